(list . (symbol) @call (#not-match? @call "^(define.*|let.*|if|cond|begin|quote|lambda|λ|set!|case|import|require|struct|module)$"))
(list (symbol) @use)

(list . (symbol) @_import (#any-of? @_import "import" "require" "use-modules" "load" "include")) @import
