(extends_clause value: [(identifier) @inherit (member_expression property: (_) @inherit)])
(implements_clause [(type_identifier) @inherit (generic_type name: (type_identifier) @inherit)])
(extends_type_clause type: [(type_identifier) @inherit (generic_type name: (type_identifier) @inherit)])
(type_annotation [(type_identifier) @type (generic_type name: (type_identifier) @type)])
(type_arguments [(type_identifier) @type (generic_type name: (type_identifier) @type)])
(union_type (type_identifier) @type)
(array_type (type_identifier) @type)
(as_expression (type_identifier) @type)
(decorator (identifier) @call)
(variable_declarator type: (type_annotation)) @bind
(required_parameter type: (type_annotation)) @bind
(optional_parameter type: (type_annotation)) @bind
(public_field_definition type: (type_annotation)) @bind
(public_field_definition value: (new_expression)) @bind
