; Nim. A name may be exported (`name*`) or quoted (`+`); its documentation opens the body. Only what stands at the top
; or under a `when` is global.

(proc_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol [(identifier) (accent_quoted)] @name)]
  (documentation_comment (comment_content) @doc)?) @definition.function
(func_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol [(identifier) (accent_quoted)] @name)]
  (documentation_comment (comment_content) @doc)?) @definition.function
(iterator_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol [(identifier) (accent_quoted)] @name)]
  (documentation_comment (comment_content) @doc)?) @definition.function
(converter_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol [(identifier) (accent_quoted)] @name)]
  (documentation_comment (comment_content) @doc)?) @definition.function
(method_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol [(identifier) (accent_quoted)] @name)]
  (documentation_comment (comment_content) @doc)?) @definition.method
(template_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol [(identifier) (accent_quoted)] @name)]
  (documentation_comment (comment_content) @doc)?) @definition.macro
(macro_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol [(identifier) (accent_quoted)] @name)]
  (documentation_comment (comment_content) @doc)?) @definition.macro

(type_declaration
  (type_symbol_declaration name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)])
  [
    (object_declaration)
    (ref_type (object_declaration))
    (pointer_type (object_declaration))
    (tuple_type)
    (type_expression (tuple_type))
  ]) @definition.struct
(type_declaration
  (type_symbol_declaration name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)])
  (enum_declaration)) @definition.enum
(type_declaration
  (type_symbol_declaration name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)])
  (concept_declaration)) @definition.interface
(type_declaration
  (type_symbol_declaration
    name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)])) @definition.type

(field_declaration (symbol_declaration_list (symbol_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)]))) @definition.field
(variant_discriminator_declaration (symbol_declaration_list (symbol_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)]))) @definition.field
(enum_field_declaration (symbol_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)])) @definition.constant

(source_file (const_section (variable_declaration (symbol_declaration_list (symbol_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)]))) @definition.constant))
(source_file (let_section (variable_declaration (symbol_declaration_list (symbol_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)]))) @definition.constant))
(source_file (var_section (variable_declaration (symbol_declaration_list (symbol_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)]))) @definition.variable))
(when (statement_list (const_section (variable_declaration (symbol_declaration_list (symbol_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)]))) @definition.constant)))
(when (statement_list (let_section (variable_declaration (symbol_declaration_list (symbol_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)]))) @definition.constant)))
(when (statement_list (var_section (variable_declaration (symbol_declaration_list (symbol_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)]))) @definition.variable)))
(elif_branch (statement_list (const_section (variable_declaration (symbol_declaration_list (symbol_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)]))) @definition.constant)))
(elif_branch (statement_list (let_section (variable_declaration (symbol_declaration_list (symbol_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)]))) @definition.constant)))
(elif_branch (statement_list (var_section (variable_declaration (symbol_declaration_list (symbol_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)]))) @definition.variable)))
(else_branch (statement_list (const_section (variable_declaration (symbol_declaration_list (symbol_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)]))) @definition.constant)))
(else_branch (statement_list (let_section (variable_declaration (symbol_declaration_list (symbol_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)]))) @definition.constant)))
(else_branch (statement_list (var_section (variable_declaration (symbol_declaration_list (symbol_declaration
  name: [(identifier) @name (accent_quoted) @name (exported_symbol (_) @name)]))) @definition.variable)))
