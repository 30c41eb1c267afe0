; Bicep.

(parameter_declaration . (identifier) @name) @definition.variable
(variable_declaration . (identifier) @name) @definition.variable
(resource_declaration . (identifier) @name (object)? @body) @definition.resource
(module_declaration . (identifier) @name (object)? @body) @definition.module
(output_declaration . (identifier) @name) @definition.output
(type_declaration . (identifier) @name) @definition.type
(user_defined_function name: (identifier) @name) @definition.function
