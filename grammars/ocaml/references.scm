(application_expression function: (value_path (value_name) @call))
(application_expression argument: (value_path (value_name) @use))
(infix_expression operator: (_) @call)
; x |> f, f @@ x
(infix_expression right: (value_path (value_name) @call))
(infix_expression left: (value_path (value_name) @use))
(method_invocation (method_name) @call)
(constructor_path (constructor_name) @use)

(inheritance_definition class: (class_path (class_name) @inherit))
(include_module module: (module_path (module_name) @inherit))
(module_binding module_type: (module_type_path (module_type_name) @inherit))
