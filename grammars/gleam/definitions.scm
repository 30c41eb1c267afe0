(function name: (identifier) @name) @definition.function
(constant name: (identifier) @name) @definition.constant
(type_definition (type_name name: (type_identifier) @name) (data_constructors)? @body) @definition.enum
(data_constructor name: (constructor_name) @name) @definition.constant
(data_constructor
  arguments: (data_constructor_arguments (data_constructor_argument label: (label) @name) @definition.field))
(type_alias (type_name name: (type_identifier) @name)) @definition.type

(attribute) @attribute
(anonymous_function) @local
