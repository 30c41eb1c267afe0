(call function: [(identifier) @call (namespace_operator rhs: (identifier) @call)])
(call function: (extract_operator rhs: (identifier) @call))
; sapply(xs, f)
(argument value: (identifier) @use)

; R6Class("A", inherit = B), setClass("A", contains = "B")
(argument name: (identifier) @_inherit value: (identifier) @inherit (#eq? @_inherit "inherit"))
(argument
  name: (identifier) @_contains
  value: (string content: (string_content) @inherit)
  (#eq? @_contains "contains"))

(call function: (identifier) @_import (#any-of? @_import "library" "require" "source" "requireNamespace")) @import
