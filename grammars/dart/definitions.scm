; Dart. A body follows its signature as a sibling; @body joins them.

(class_definition name: (identifier) @name) @definition.class
(class_definition (mixin_application_class . (identifier) @name)) @definition.class
(mixin_declaration (mixin) . (identifier) @name) @definition.class
(enum_declaration name: (identifier) @name) @definition.enum
(enum_constant name: (identifier) @name) @definition.constant
(extension_declaration name: (identifier) @name) @definition.class
(extension_declaration !name class: (type_identifier) @name) @container
(extension_type_declaration name: (identifier) @name) @definition.class
(representation_declaration name: (identifier) @name) @definition.field
(type_alias (type_identifier) @name . [(formal_parameter_list) (type_parameters) "="]) @definition.type

; A constructor is called like its class or, with a name, `Class.name`.
((method_signature
  (constructor_signature (identifier) @name . (formal_parameter_list))) @definition.constructor
  . (function_body) @body)
((method_signature
  (factory_constructor_signature (identifier) @name . (formal_parameter_list))) @definition.constructor
  . (function_body) @body)
(constructor_signature (identifier) @name . (formal_parameter_list)) @definition.constructor
(factory_constructor_signature (identifier) @name . (formal_parameter_list)) @definition.constructor
(constant_constructor_signature (identifier) @name . (formal_parameter_list)) @definition.constructor
(redirecting_factory_constructor_signature
  (identifier) @name . (formal_parameter_list)) @definition.constructor

((method_signature (function_signature name: (identifier) @name)) @definition.method . (function_body) @body)
((method_signature (getter_signature name: (identifier) @name)) @definition.property . (function_body) @body)
((method_signature (setter_signature name: (identifier) @name)) @definition.property . (function_body) @body)
((method_signature
  (operator_signature "operator" @prefix . [(binary_operator) "[]" "[]=" "~"] @name)) @definition.method
  . (function_body) @body)
(declaration (function_signature name: (identifier) @name)) @definition.method
(declaration (getter_signature name: (identifier) @name)) @definition.property
(declaration (setter_signature name: (identifier) @name)) @definition.property
(declaration (operator_signature "operator" @prefix . [(binary_operator) "[]" "[]=" "~"] @name)) @definition.method

(program (function_signature name: (identifier) @name) @definition.function . (function_body) @body)
(program (getter_signature name: (identifier) @name) @definition.property . (function_body) @body)
(program (setter_signature name: (identifier) @name) @definition.property . (function_body) @body)
(program (function_signature name: (identifier) @name) @definition.function)
(program (getter_signature name: (identifier) @name) @definition.property)
(program (setter_signature name: (identifier) @name) @definition.property)
(local_function_declaration
  (lambda_expression parameters: (function_signature name: (identifier) @name) body: (_) @body)) @definition.function

(declaration (static_final_declaration_list
  (static_final_declaration . (identifier) @name))) @definition.constant
(program (static_final_declaration_list
  (static_final_declaration . (identifier) @name) @definition.constant))
(declaration (initialized_identifier_list
  (initialized_identifier . (identifier) @name))) @definition.field
(program (initialized_identifier_list
  (initialized_identifier . (identifier) @name) @definition.variable))

(function_expression) @local
(annotation) @attribute
