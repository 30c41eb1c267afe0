; Rust. An `impl` lends its type's name to what it holds.

(function_item name: (identifier) @name) @definition.function
(trait_item
  body: (declaration_list
    (function_signature_item name: (identifier) @name) @definition.method))

(struct_item name: (type_identifier) @name) @definition.struct
(union_item name: (type_identifier) @name) @definition.union
(enum_item name: (type_identifier) @name) @definition.enum
(trait_item name: (type_identifier) @name) @definition.trait
(type_item name: (type_identifier) @name) @definition.type
(associated_type name: (type_identifier) @name) @definition.type
(impl_item type: (_) @name) @container

(enum_variant name: (identifier) @name) @definition.constant
(enum_variant name: (identifier) @name body: (field_declaration_list)) @container
(field_declaration name: (field_identifier) @name) @definition.field

(const_item name: (identifier) @name) @definition.constant
(static_item name: (identifier) @name) @definition.variable
(macro_definition name: (identifier) @name) @definition.macro
(mod_item name: (identifier) @name body: (_)) @definition.module

(attribute_item) @attribute
