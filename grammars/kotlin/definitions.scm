; Kotlin. A property with accessors of its own is a property, any other a field; `val` outside of classes and in
; objects is a constant. An accessor on a line of its own is the property's sibling in the tree.

(class_declaration "enum" (type_identifier) @name) @definition.enum
(class_declaration "interface" (type_identifier) @name) @definition.interface
(class_declaration (type_identifier) @name) @definition.class
(object_declaration (type_identifier) @name) @definition.class
(companion_object (type_identifier) @name) @definition.class
(type_alias (type_identifier) @name) @definition.type
(enum_entry (simple_identifier) @name) @definition.constant

; A constructor on a line of its own: the grammar reads `constructor(...) : Base { ... }` as a call, or, after a modifier,
; as variables.
((class_declaration (type_identifier) @name) . [(annotation) (line_comment) (multiline_comment)]* . [
    (infix_expression (call_expression . (simple_identifier) @keyword))
    (call_expression . (simple_identifier) @keyword (call_suffix (annotated_lambda)))
    (prefix_expression (annotation) [
      (infix_expression (call_expression . (simple_identifier) @keyword))
      (call_expression . (simple_identifier) @keyword (call_suffix (annotated_lambda)))
    ])
  ] @container
  (#eq? @keyword "constructor"))
(infix_expression (call_expression . (simple_identifier) @keyword) (lambda_literal) @toplevel (#eq? @keyword "constructor"))
(call_expression
  . (simple_identifier) @keyword (call_suffix (annotated_lambda (lambda_literal) @toplevel))
  (#eq? @keyword "constructor"))
(property_declaration
  receiver: (receiver_type (user_type (type_identifier) @keyword))
  (multi_variable_declaration (variable_declaration (simple_identifier) @name))
  (#eq? @keyword "constructor")) @ignore

; fun List<T>.second(), fun Outer.Inner?.name()
(function_declaration
  receiver: (receiver_type [
    (user_type (type_identifier) @scope (type_arguments))
    (nullable_type (user_type (type_identifier) @scope (type_arguments)))
  ])
  (simple_identifier) @name . (function_value_parameters)
  (function_body)? @body) @definition.function
(function_declaration
  receiver: (receiver_type [(user_type) @scope (nullable_type (user_type) @scope)])
  (simple_identifier) @name . (function_value_parameters)
  (function_body)? @body) @definition.function
(function_declaration
  (simple_identifier) @name . (function_value_parameters) (function_body)? @body) @definition.function
(secondary_constructor "constructor" @name) @definition.constructor

; val String.last: Char get() = ...
(property_declaration
  receiver: (receiver_type [
    (user_type (type_identifier) @scope (type_arguments))
    (nullable_type (user_type (type_identifier) @scope (type_arguments)))
  ])
  (variable_declaration (simple_identifier) @name)
  [(getter) (setter)] @body) @definition.property
((property_declaration
  receiver: (receiver_type [
    (user_type (type_identifier) @scope (type_arguments))
    (nullable_type (user_type (type_identifier) @scope (type_arguments)))
  ])
  (variable_declaration (simple_identifier) @name)) @definition.property
  . [(line_comment) (multiline_comment)]* . [(getter) (setter)] @body)
(property_declaration
  receiver: (receiver_type [(user_type) @scope (nullable_type (user_type) @scope)])
  (variable_declaration (simple_identifier) @name)
  [(getter) (setter)] @body) @definition.property
((property_declaration
  receiver: (receiver_type [(user_type) @scope (nullable_type (user_type) @scope)])
  (variable_declaration (simple_identifier) @name)) @definition.property
  . [(line_comment) (multiline_comment)]* . [(getter) (setter)] @body)
((property_declaration (variable_declaration (simple_identifier) @name)) @definition.property
  . [(line_comment) (multiline_comment)]* . (getter) . (setter) @body)
((property_declaration (variable_declaration (simple_identifier) @name)) @definition.property
  . [(line_comment) (multiline_comment)]* . (setter) . (getter) @body)
(property_declaration
  (variable_declaration (simple_identifier) @name) [(getter) (setter)] @body) @definition.property
((property_declaration (variable_declaration (simple_identifier) @name)) @definition.property
  . [(line_comment) (multiline_comment)]* . [(getter) (setter)] @body)

(class_declaration
  "interface"
  (class_body (property_declaration (variable_declaration (simple_identifier) @name)) @definition.property))
(property_declaration
  (modifiers (property_modifier) @keyword)
  (variable_declaration (simple_identifier) @name)
  (#eq? @keyword "const")) @definition.constant
(source_file
  (property_declaration
    (binding_pattern_kind "val") (variable_declaration (simple_identifier) @name)) @definition.constant)
(object_declaration
  (class_body
    (property_declaration
      (binding_pattern_kind "val") (variable_declaration (simple_identifier) @name)) @definition.constant))
(companion_object
  (class_body
    (property_declaration
      (binding_pattern_kind "val") (variable_declaration (simple_identifier) @name)) @definition.constant))
(property_declaration (variable_declaration (simple_identifier) @name)) @definition.variable
(property_declaration
  (multi_variable_declaration (variable_declaration (simple_identifier) @name))) @definition.variable
; class Point(val x: Int)
(class_parameter (binding_pattern_kind) . (simple_identifier) @name) @definition.field

; object : Runnable { ... } has no name; what a companion holds is said with the name of its class.
(object_literal) @container
(property_declaration (variable_declaration (simple_identifier) @name) (object_literal)) @container
(companion_object . "companion" . "object" . (class_body)) @container
(enum_entry (simple_identifier) @name (class_body)) @container

[(lambda_literal) (anonymous_function) (anonymous_initializer) (getter) (setter)] @local
(modifiers (annotation) @attribute)
