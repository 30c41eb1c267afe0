(subroutine_call subroutine: (identifier) @call)
(subroutine_call subroutine: (derived_type_member_expression (type_member) @call))
(call_expression . (identifier) @call)
(call_expression . (derived_type_member_expression (type_member) @call))

(derived_type name: (type_name) @type)
(base_type_specifier (identifier) @inherit)

(use_statement) @import
(include_statement) @import
