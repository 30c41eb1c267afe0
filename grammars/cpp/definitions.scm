; C++, beyond what it shares with C. The code splits names like `Foo::bar` into owner and name.

; class EXPORT Foo : public Bar { ... } is read as a function of that type.
(function_definition
  type: [(class_specifier !body) (struct_specifier !body)] declarator: (identifier) @name) @definition.class

; A macro that the grammar cannot place: EXPORT static const Type name; void run() REQUIRES(mutex) { ... }
(field_declaration declarator: (field_identifier) @name . (ERROR (identifier))) @ignore
(field_declaration declarator: (field_identifier) . (ERROR . (identifier) @name .)) @definition.field
((field_declaration declarator: (field_identifier) @name) @ignore
  . (field_declaration type: (type_identifier) !declarator)
  (#not-match? @ignore ";"))
((field_declaration declarator: (field_identifier)) @_head
  . (field_declaration type: (type_identifier) @name !declarator) @definition.field
  (#not-match? @_head ";"))
((field_declaration declarator: (function_declarator declarator: (_) @name)) @definition.function
  . (function_definition !type declarator: (function_declarator) body: (_) @body)
  (#not-match? @definition.function ";"))
((field_declaration declarator: (function_declarator)) @_head
  . (function_definition !type declarator: (function_declarator declarator: (identifier) @name)) @ignore
  (#not-match? @_head ";"))
(function_definition
  (ERROR (function_declarator declarator: (_) @name)) declarator: (function_declarator)) @definition.function
(function_definition
  (ERROR (function_declarator)) declarator: (function_declarator declarator: (_) @name)) @ignore

(class_specifier name: (_) @name body: (_)) @definition.class
(namespace_definition name: (_) @name) @definition.module
(namespace_alias_definition name: (_) @name) @definition.module
(alias_declaration name: (type_identifier) @name) @definition.type
(concept_definition name: (identifier) @name) @definition.type

(lambda_expression) @local
(template_declaration parameters: (template_parameter_list) @attribute)
