(function_call_expression function: [(name) @call (qualified_name (name) @call)])
(member_call_expression name: (name) @call)
(nullsafe_member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(object_creation_expression [(name) @call (qualified_name (name) @call)])
(base_clause [(name) @inherit (qualified_name (name) @inherit)])
(class_interface_clause [(name) @inherit (qualified_name (name) @inherit)])
(named_type [(name) @type (qualified_name (name) @type)])
(namespace_use_declaration) @import
