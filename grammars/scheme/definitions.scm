; Scheme and Racket.

(list
  . (symbol) @_define
  . (list . [(symbol) @name (list . (symbol) @name)])
  . (_) @body
  (#match? @_define "^define(/contract|/public|/override|/private|\\*|-inline)?$")) @definition.function
(list
  . (symbol) @_define
  . (symbol) @name
  . (list . (symbol) @_lambda)
  (#any-of? @_define "define" "define*")
  (#any-of? @_lambda "lambda" "case-lambda" "λ")) @definition.function
(list
  . (symbol) @_define
  . [(symbol) @name (list . (symbol) @name)]
  (#match? @_define "^define-(syntax(-rule|es|-parser)?|macro)$")) @definition.macro
(list
  . (symbol) @_define
  . [(symbol) @name (list . (symbol) @name)]
  (#any-of? @_define "define-record-type" "define-struct" "struct")) @definition.struct
(list
  . (symbol) @_define
  . [(symbol) (list)] @name
  (#any-of? @_define "define-library" "library" "define-module" "module")) @definition.module
(program (list . (symbol) @_define . (symbol) @name (#eq? @_define "define")) @definition.variable)

(list . (symbol) @_lambda (#any-of? @_lambda "lambda" "λ")) @local
