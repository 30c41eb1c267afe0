; VHDL. What an architecture declares belongs to it, not to its entity.

(entity_declaration name: (identifier) @name) @definition.module
(architecture_body name: (identifier) @name) @definition.module
(package_declaration name: (identifier) @name) @definition.module
(package_body package: (_) @name) @definition.module
(component_declaration name: (identifier) @name) @definition.interface
(configuration_declaration name: (identifier) @name) @definition.module

(function_body designator: (_) @name) @definition.function
(procedure_body designator: (_) @name) @definition.function
(function_declaration designator: (_) @name) @definition.function
(procedure_declaration designator: (_) @name) @definition.function
(process_statement (label (identifier) @name)) @definition.function

(full_type_declaration name: (identifier) @name (enumeration_type_definition)) @definition.enum
(full_type_declaration name: (identifier) @name (record_type_definition)) @definition.struct
(full_type_declaration name: (identifier) @name) @definition.type
(enumeration_type_definition literal: (identifier) @name @definition.constant)
(element_declaration (identifier_list (identifier) @name)) @definition.field
(subtype_declaration name: (identifier) @name) @definition.type
(alias_declaration designator: (_) @name) @definition.type

(constant_declaration (identifier_list (identifier) @name)) @definition.constant
(signal_declaration (identifier_list (identifier) @name)) @definition.variable
(shared_variable_declaration (identifier_list (identifier) @name)) @definition.variable
(generic_clause (constant_interface_declaration (identifier_list (identifier) @name)) @definition.constant)
(entity_header
  (port_clause (signal_interface_declaration (identifier_list (identifier) @name)) @definition.variable))
