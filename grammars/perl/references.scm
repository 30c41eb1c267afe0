(function_call_expression function: (function) @call)
(ambiguous_function_call_expression function: (function) @call)
(method_call_expression method: (method) @call)
; &name, \&name
(refgen_expression (function (varname) @call))
; Class->method
(method_call_expression invocant: (bareword) @type)

(use_statement
  module: (package) @_parent
  (string_literal content: (string_content) @inherit)
  (#any-of? @_parent "parent" "base" "Mojo::Base"))
(use_statement
  module: (package) @_parent
  (quoted_word_list content: (string_content) @inherit)
  (#any-of? @_parent "parent" "base"))

(use_statement) @import
(require_expression) @import
