(call_expression function: [
  (identifier) @call
  (field_expression field: (identifier) @call)
  (generic_function function: [(identifier) @call (field_expression field: (identifier) @call)])
])
(generic_function function: [(identifier) @call (field_expression field: (identifier) @call)])
; a method without parameters is called by its bare name
(field_expression field: (identifier) @call)
(infix_expression operator: (_) @call)
(instance_expression [
  (type_identifier) @call
  (generic_type type: (type_identifier) @call)
  (stable_type_identifier (type_identifier) @call)
])
(extends_clause type: [
  (type_identifier) @inherit
  (generic_type type: (type_identifier) @inherit)
  (stable_type_identifier (type_identifier) @inherit)
])
(_ type: (type_identifier) @type)
(_ return_type: (type_identifier) @type)
(type_arguments (type_identifier) @type)
(stable_type_identifier (type_identifier) @type)
(annotation name: (type_identifier) @type)
(arguments (identifier) @use)
(import_declaration) @import
