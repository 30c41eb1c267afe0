; Elm. An annotation and the declaration under it are one symbol, at the annotation.

(module_declaration name: (upper_case_qid) @name) @definition.module

(type_declaration name: (upper_case_identifier) @name) @definition.enum
(union_variant name: (upper_case_identifier) @name) @definition.constant
(type_alias_declaration
  name: (upper_case_identifier) @name
  typeExpression: (type_expression . part: (record_type) .)) @definition.struct
(type_alias_declaration name: (upper_case_identifier) @name) @definition.type
(type_alias_declaration
  typeExpression: (type_expression
    . part: (record_type fieldType: (field_type name: (lower_case_identifier) @name) @definition.field)))

(type_annotation
  name: (lower_case_identifier) @name @clause
  typeExpression: (type_expression (arrow))) @definition.function
(file (type_annotation name: (lower_case_identifier) @name @clause) @definition.constant)
(value_declaration
  functionDeclarationLeft: (function_declaration_left
    . (lower_case_identifier) @name @clause
    pattern: (_))
  body: (_) @body) @definition.function
(file
  (value_declaration
    functionDeclarationLeft: (function_declaration_left . (lower_case_identifier) @name @clause)
    body: (_) @body) @definition.constant)
(port_annotation name: (lower_case_identifier) @name) @definition.function

(anonymous_function_expr) @local
