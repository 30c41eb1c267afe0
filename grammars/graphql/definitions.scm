; GraphQL: what a schema defines, and the operations and fragments of a client.

(object_type_definition (name) @name (fields_definition)? @body) @definition.type
(interface_type_definition (name) @name (fields_definition)? @body) @definition.interface
(input_object_type_definition (name) @name (input_fields_definition)? @body) @definition.type
(enum_type_definition (name) @name (enum_values_definition)? @body) @definition.enum
(union_type_definition (name) @name) @definition.union
(scalar_type_definition (name) @name) @definition.type
(directive_definition (name) @name) @definition.directive

(object_type_definition (name) @name) @container
(input_object_type_definition (name) @name) @container
(object_type_extension (name) @name) @container
(interface_type_extension (name) @name) @container
(input_object_type_extension (name) @name) @container

(field_definition (name) @name) @definition.field
(input_fields_definition (input_value_definition (name) @name) @definition.field)
(enum_value_definition (enum_value (name) @name)) @definition.constant

(operation_definition (name) @name (selection_set) @body) @definition.function
(fragment_definition (fragment_name (name) @name) (selection_set) @body) @definition.fragment

(description (string_value) @doc) @attribute
