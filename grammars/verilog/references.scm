(module_instantiation . (simple_identifier) @call)
(checker_instantiation . (checker_identifier (simple_identifier) @call))
(tf_call (simple_identifier) @call)
(text_macro_usage (text_macro_identifier (simple_identifier) @call))

(class_declaration (class_type (class_identifier (simple_identifier) @inherit)))
(data_type . (simple_identifier) @type)

(package_import_declaration) @import
(include_compiler_directive) @import
