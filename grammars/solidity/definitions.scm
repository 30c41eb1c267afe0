; Solidity. What has no name of its own is called by its keyword: constructor, fallback, receive.

(contract_declaration name: (identifier) @name) @definition.class
(library_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(struct_declaration name: (identifier) @name) @definition.struct
(struct_member name: (identifier) @name) @definition.field
(enum_declaration name: (identifier) @name) @definition.enum
(enum_value) @name @definition.constant
(user_defined_type_definition name: (identifier) @name) @definition.type

(function_definition name: (identifier) @name) @definition.function
(constructor_definition "constructor" @name) @definition.constructor
(fallback_receive_definition ["fallback" "receive" "function"] @name) @definition.method
(modifier_definition name: (identifier) @name) @definition.modifier
(event_definition name: (identifier) @name) @definition.event
(error_declaration name: (identifier) @name) @definition.error

(constant_variable_declaration name: (identifier) @name) @definition.constant
(state_variable_declaration "constant" name: (identifier) @name) @definition.constant
(state_variable_declaration name: (identifier) @name) @definition.variable
