(application_expression . [(long_identifier_or_op (identifier) @call) (long_identifier_or_op (long_identifier (identifier) @call .))])
(application_expression . (dot_expression field: (long_identifier_or_op (identifier) @call)))
(application_expression (_) . (long_identifier_or_op (identifier) @use))
; x |> f
(infix_expression (infix_op) . (long_identifier_or_op [(identifier) @call (long_identifier (identifier) @call .)]))

(simple_type (long_identifier (identifier) @type .))
(class_inherits_decl block: (simple_type (long_identifier (identifier) @inherit .)))
(interface_implementation (simple_type (long_identifier (identifier) @inherit .)))

(import_decl) @import
