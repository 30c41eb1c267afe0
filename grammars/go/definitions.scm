; Go. A method belongs to the type of its receiver, which does not enclose it. What is called `_` defines nothing.

(const_spec (identifier) @name (#eq? @name "_")) @ignore
(var_spec name: (identifier) @name (#eq? @name "_")) @ignore
(field_declaration name: (field_identifier) @name (#eq? @name "_")) @ignore
(function_declaration name: (identifier) @name (#eq? @name "_")) @ignore
(type_spec name: (type_identifier) @name (#eq? @name "_")) @ignore

(function_declaration name: (identifier) @name) @definition.function

(method_declaration
  receiver: (parameter_list
    (parameter_declaration
      type: [
        (type_identifier) @scope
        (generic_type type: (type_identifier) @scope)
        (pointer_type [(type_identifier) @scope (generic_type type: (type_identifier) @scope)])
        (parenthesized_type)
      ]))
  name: (field_identifier) @name) @definition.method

(type_spec name: (type_identifier) @name type: (struct_type)) @definition.struct
(type_spec name: (type_identifier) @name type: (interface_type)) @definition.interface
(type_spec name: (type_identifier) @name type: (_) @owner) @definition.type
(type_alias name: (type_identifier) @name) @definition.type

; A field or variable of an unnamed struct type owns that type's fields.
(field_declaration
  name: (field_identifier) @name
  type: [
    (struct_type) (pointer_type (struct_type)) (slice_type element: (struct_type)) (array_type element: (struct_type))
    (slice_type element: (pointer_type (struct_type))) (map_type value: (struct_type))
    (map_type value: (pointer_type (struct_type))) (map_type value: (slice_type element: (struct_type)))
  ] @owner) @definition.field
(field_declaration name: (field_identifier) @name) @definition.field
(method_elem name: (field_identifier) @name) @definition.method

; No field here: the grammar gives it to the commas as well, and `a, b = 1, 2` would only match once.
(const_spec (identifier) @name) @definition.constant
(var_spec name: (identifier) @name [type: (_) value: (_)] @owner) @definition.variable
(var_spec name: (identifier) @name) @definition.variable

(func_literal) @local
