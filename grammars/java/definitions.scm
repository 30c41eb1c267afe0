; Java. Locals have a node of their own, so every field_declaration is a member.

(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(annotation_type_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(enum_constant name: (identifier) @name) @definition.constant

(method_declaration name: (identifier) @name) @definition.method
(annotation_type_element_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.constructor
(compact_constructor_declaration name: (identifier) @name) @definition.constructor

(field_declaration
  (modifiers "static" "final")
  declarator: (variable_declarator name: (identifier) @name)) @definition.constant
(field_declaration
  (modifiers "final" "static")
  declarator: (variable_declarator name: (identifier) @name)) @definition.constant
(field_declaration
  declarator: (variable_declarator name: (identifier) @name)) @definition.field
(constant_declaration
  declarator: (variable_declarator name: (identifier) @name)) @definition.constant

; new Runnable() { ... } and a constant with a body are classes without a name of their own.
(object_creation_expression (class_body)) @container
(enum_constant name: (identifier) @name body: (class_body)) @container
; Runnable task = new Runnable() { ... } in a class: its methods are the field's.
(field_declaration
  declarator: (variable_declarator
    name: (identifier) @name value: [(object_creation_expression) (method_invocation)]) @container)
(constant_declaration
  declarator: (variable_declarator
    name: (identifier) @name value: [(object_creation_expression) (method_invocation)]) @container)

(modifiers [(annotation) (marker_annotation)] @attribute)
