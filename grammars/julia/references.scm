; The head of a short definition looks like a call: @head says which calls are none.

(call_expression . [(identifier) @call (field_expression (identifier) @call .)])
(call_expression . (parametrized_type_expression . (identifier) @call))
(broadcast_call_expression . [(identifier) @call (field_expression (identifier) @call .)])
(macrocall_expression (macro_identifier (identifier) @call))
(argument_list (identifier) @use)

(signature
  [
    (call_expression . (identifier) @head)
    (typed_expression . (call_expression . (identifier) @head))
    (where_expression . (call_expression . (identifier) @head))
  ])
(assignment
  . [
    (call_expression . (identifier) @head)
    (typed_expression . (call_expression . (identifier) @head))
    (where_expression . (call_expression . (identifier) @head))
  ])

(typed_expression (identifier) @type .)
(typed_expression (parametrized_type_expression . (identifier) @type) .)
(curly_expression (identifier) @type)

(type_head (binary_expression (operator) . [(identifier) @inherit (parametrized_type_expression . (identifier) @inherit)]))

(using_statement) @import
(import_statement) @import
(call_expression . (identifier) @_include (#eq? @_include "include")) @import
