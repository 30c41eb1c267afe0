; OCaml: what implementations and interfaces have in common.

(external [(value_name) @name (parenthesized_operator (_) @name)]) @definition.function
(value_specification
  [(value_name) @name (parenthesized_operator (_) @name)]
  type: [(function_type) (polymorphic_type)]) @definition.function
(value_specification [(value_name) @name (parenthesized_operator (_) @name)]) @definition.variable

(type_binding name: (type_constructor) @name body: (record_declaration)) @definition.struct
(type_binding name: (type_constructor) @name body: (variant_declaration)) @definition.enum
(type_binding name: (type_constructor) @name) @definition.type
(variant_declaration (constructor_declaration (constructor_name) @name) @definition.constant)
(type_binding body: (record_declaration (field_declaration (field_name) @name) @definition.field))
(exception_definition (constructor_declaration (constructor_name) @name)) @definition.error

(module_binding . (module_name) @name) @definition.module
(module_type_definition (module_type_name) @name) @definition.interface

(class_binding (class_name) @name) @definition.class
(class_type_binding (class_type_name) @name) @definition.interface
(method_specification (method_name) @name) @definition.method
