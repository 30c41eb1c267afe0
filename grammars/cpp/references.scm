(call_expression function: [
  (identifier) @call
  (field_expression field: (field_identifier) @call)
  (qualified_identifier name: (identifier) @call)
  (template_function name: (identifier) @call)])
(new_expression type: (type_identifier) @call)
(base_class_clause [(type_identifier) @inherit (qualified_identifier name: (type_identifier) @inherit)
  (template_type name: (type_identifier) @inherit)])
(argument_list (identifier) @use)
(initializer_list (identifier) @use)
(init_declarator value: (identifier) @use)
(parameter_declaration type: [(type_identifier) @type (qualified_identifier name: (type_identifier) @type)])
(declaration type: [(type_identifier) @type (qualified_identifier name: (type_identifier) @type)])
(preproc_include) @import
(using_declaration) @import
