(call_expression . [
  (simple_identifier) @call
  (navigation_expression (navigation_suffix (simple_identifier) @call))
])
(infix_expression (_) . (simple_identifier) @call . (_))
(callable_reference (simple_identifier) @call .)
(delegation_specifier [
  (user_type (type_identifier) @inherit)
  (constructor_invocation (user_type (type_identifier) @inherit))
  (explicit_delegation (user_type (type_identifier) @inherit))
])
(user_type (type_identifier) @type)
(value_argument (simple_identifier) @use)
(import_header) @import
