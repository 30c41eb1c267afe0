(call_expression . [
  (simple_identifier) @call
  (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @call))
  (prefix_expression (simple_identifier) @call)
])
(constructor_expression constructed_type: (user_type (type_identifier) @call))
(macro_invocation (simple_identifier) @call)
(inheritance_specifier inherits_from: (user_type (type_identifier) @inherit))
(user_type (type_identifier) @type)
(value_argument value: (simple_identifier) @use)
(import_declaration) @import
