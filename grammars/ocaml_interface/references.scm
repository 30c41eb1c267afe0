; What implementations and interfaces have in common.

(type_constructor_path (type_constructor) @type)
(module_type_path (module_type_name) @type)

(open_module) @import
