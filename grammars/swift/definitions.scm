; Swift. An extension lends its type's name to what it holds. The grammar calls every type a class_declaration and
; gives the field `name` to return types as well, so names are found by where they stand.

(class_declaration "class" . name: (type_identifier) @name) @definition.class
(class_declaration "actor" . name: (type_identifier) @name) @definition.class
(class_declaration "struct" . name: (type_identifier) @name) @definition.struct
(class_declaration "enum" . name: (type_identifier) @name) @definition.enum
(class_declaration "extension" . name: (_) @name) @container
(protocol_declaration name: (type_identifier) @name) @definition.interface
(enum_entry name: (simple_identifier) @name) @definition.constant
(typealias_declaration "typealias" . name: (type_identifier) @name) @definition.type
(associatedtype_declaration name: (type_identifier) @name) @definition.type

(function_declaration "func" . name: _ @name) @definition.function
(protocol_function_declaration "func" . name: _ @name) @definition.method
(init_declaration "init" @name) @definition.constructor
(deinit_declaration "deinit" @name) @definition.method
(subscript_declaration "subscript" @name) @definition.property
(macro_declaration "macro" . (simple_identifier) @name) @definition.macro

(protocol_property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.property
(property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)
  computed_value: (computed_property) @body) @definition.property
(property_declaration
  (modifiers (property_modifier) @keyword)
  (value_binding_pattern "let")
  name: (pattern bound_identifier: (simple_identifier) @name)
  (#match? @keyword "^(static|class)$")) @definition.constant
(source_file
  (property_declaration
    (value_binding_pattern "let")
    name: (pattern bound_identifier: (simple_identifier) @name)) @definition.constant)
(property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)) @definition.variable
(property_declaration name: (pattern (pattern (simple_identifier) @name))) @definition.variable

[(lambda_literal) (computed_property) (willset_didset_block)] @local
(modifiers (attribute) @attribute)
