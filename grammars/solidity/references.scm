(call_expression function: (expression [(identifier) @call (member_expression property: (identifier) @call)]))
(emit_statement name: (expression [(identifier) @call (member_expression property: (identifier) @call)]))
(revert_statement error: (expression [(identifier) @call (member_expression property: (identifier) @call)]))
(modifier_invocation (identifier) @call)
(inheritance_specifier ancestor: (user_defined_type (identifier) @inherit))
(type_name (user_defined_type (identifier) @type))
(import_directive) @import
