(message_expression receiver: (_) . method: (identifier) @call)
(class_interface superclass: (identifier) @inherit)
(parameterized_arguments (type_name (type_identifier) @inherit))
(protocol_reference_list (identifier) @inherit)
(method_type (type_name (type_identifier) @type))
(struct_declaration (type_identifier) @type)
(selector_expression (identifier) @use)
(module_import) @import
