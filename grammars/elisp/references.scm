(list . (symbol) @call (#not-match? @call "^(cl-def.*|def.*|define-.*|require|provide)$"))
; #'name
(quote (symbol) @use)

(list . (symbol) @_import (#any-of? @_import "require" "load" "autoload")) @import
