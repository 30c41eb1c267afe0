; TypeScript and TSX, beyond what they share with JavaScript.

(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(type_alias_declaration name: (type_identifier) @name value: (_) @owner) @definition.type
(enum_declaration name: (identifier) @name) @definition.enum
(enum_body name: [(property_identifier) (string)] @name @definition.constant)
(enum_assignment name: [(property_identifier) (string)] @name) @definition.constant

(internal_module name: [(identifier) (nested_identifier)] @name) @definition.module
(module name: [(identifier) (nested_identifier) (string)] @name) @definition.module

(function_signature name: (identifier) @name) @definition.function
(abstract_method_signature
  name: [(property_identifier) (private_property_identifier) (string)] @name) @definition.method
(method_signature
  name: [(property_identifier) (private_property_identifier) (string)] @name) @definition.method

(public_field_definition
  name: [(property_identifier) (private_property_identifier)] @name
  value: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
  ]) @definition.method
(public_field_definition
  name: [(property_identifier) (private_property_identifier) (string)] @name
  value: [(object) (call_expression) (new_expression)] @owner) @definition.property
(public_field_definition
  name: [(property_identifier) (private_property_identifier) (string)] @name) @definition.property
; constructor(private readonly port: number)
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @definition.property
(required_parameter "readonly" pattern: (identifier) @name) @definition.property
(interface_body
  (property_signature
    name: [(property_identifier) (string)] @name
    type: (type_annotation (object_type) @owner)) @definition.property)
(interface_body
  (property_signature name: [(property_identifier) (string)] @name) @definition.property)
