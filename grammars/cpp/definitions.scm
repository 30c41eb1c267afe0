; C++, beyond what it shares with C. The code splits names like `Foo::bar` into owner and name.

; class EXPORT Foo : public Bar { ... } is read as a function of that type.
(function_definition
  type: [(class_specifier !body) (struct_specifier !body)] declarator: (identifier) @name) @definition.class

(class_specifier name: (_) @name body: (_)) @definition.class
(namespace_definition name: (_) @name) @definition.module
(namespace_alias_definition name: (_) @name) @definition.module
(alias_declaration name: (type_identifier) @name) @definition.type
(concept_definition name: (identifier) @name) @definition.type

(lambda_expression) @local
(template_declaration parameters: (template_parameter_list) @attribute)
