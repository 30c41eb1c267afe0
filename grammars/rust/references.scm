(call_expression function: [
  (identifier) @call
  (scoped_identifier name: (identifier) @call)
  (field_expression field: (field_identifier) @call)
  (generic_function function: [(identifier) @call (scoped_identifier name: (identifier) @call)
    (field_expression field: (field_identifier) @call)])])
(macro_invocation macro: [(identifier) @call (scoped_identifier name: (identifier) @call)])
(struct_expression name: [(type_identifier) @call (scoped_type_identifier name: (type_identifier) @call)])
(impl_item trait: [(type_identifier) @inherit (scoped_type_identifier name: (type_identifier) @inherit)
  (generic_type type: (type_identifier) @inherit)])
(parameter type: (type_identifier) @type)
(reference_type type: (type_identifier) @type)
(type_arguments (type_identifier) @type)
(arguments [(identifier) @use (scoped_identifier name: (identifier) @use)])
(use_declaration) @import
