; Verilog and SystemVerilog.

(module_declaration (module_header (simple_identifier) @name)) @definition.module
(interface_declaration (_ (interface_identifier (simple_identifier) @name))) @definition.interface
(package_declaration . (package_identifier (simple_identifier) @name)) @definition.module
(program_declaration (_ (program_identifier (simple_identifier) @name))) @definition.module
(class_declaration . (class_identifier (simple_identifier) @name)) @definition.class

(function_declaration
  (function_body_declaration (function_identifier (function_identifier (simple_identifier) @name)))) @definition.function
(task_declaration
  (task_body_declaration (task_identifier (task_identifier (simple_identifier) @name)))) @definition.function
(class_constructor_declaration "new" @name) @definition.constructor

(type_declaration (data_type "enum") (simple_identifier) @name) @definition.enum
(type_declaration (data_type (struct_union)) (simple_identifier) @name) @definition.struct
(type_declaration (simple_identifier) @name .) @definition.type
(enum_name_declaration (enum_identifier (simple_identifier) @name)) @definition.constant
(parameter_declaration
  (list_of_param_assignments (param_assignment (parameter_identifier (simple_identifier) @name)))) @definition.constant
(local_parameter_declaration
  (list_of_param_assignments (param_assignment (parameter_identifier (simple_identifier) @name)))) @definition.constant
(text_macro_definition (text_macro_name (text_macro_identifier (simple_identifier) @name))) @definition.macro

(ansi_port_declaration (port_identifier (simple_identifier) @name)) @definition.variable
(net_declaration (list_of_net_decl_assignments (net_decl_assignment (simple_identifier) @name))) @definition.variable
(data_declaration
  (list_of_variable_decl_assignments (variable_decl_assignment . (simple_identifier) @name))) @definition.variable
