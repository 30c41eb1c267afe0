; C, and what C++ shares with it. A declarator hides its name under pointers, arrays and parentheses:
; @declarator leaves the descent to the code, which also tells prototypes from variables.

; The preprocessor knows no scopes: a macro that is defined inside a function is a macro of the file.
(preproc_def name: (identifier) @name @absolute) @definition.constant
(preproc_function_def name: (identifier) @name @absolute) @definition.macro

; A macro on a line of its own between the type and the name: static void MACRO name(int a) { ... }
(function_definition
  declarator: (function_declarator declarator: (identifier) (ERROR . (identifier) @name .))) @definition.function
(function_definition
  declarator: (function_declarator declarator: (identifier) @name (ERROR . (identifier) .))) @ignore
(function_definition declarator: (_) @declarator) @definition.function
; TEST(name) { ... }: what it defines only the macro knows; what is declared inside is local.
(function_definition declarator: (parenthesized_declarator (identifier))) @local

(struct_specifier name: (_) @name body: (_)) @definition.struct
(union_specifier name: (_) @name body: (_)) @definition.union
(enum_specifier name: (_) @name body: (_)) @definition.enum
(enumerator name: (identifier) @name) @definition.constant
(enum_specifier !name body: (_)) @container
; What has an unnamed struct or union for its type owns the fields of it.
(field_declaration
  type: [(struct_specifier !name body: (_)) (union_specifier !name body: (_))] @owner
  declarator: (_) @declarator) @definition.field
(field_declaration declarator: (_) @declarator) @definition.field

(type_definition
  type: (struct_specifier !name body: (_)) declarator: (type_identifier) @name) @definition.struct
(type_definition
  type: (union_specifier !name body: (_)) declarator: (type_identifier) @name) @definition.union
(type_definition
  type: (enum_specifier !name body: (_)) declarator: (type_identifier) @name) @definition.enum
(type_definition declarator: (_) @declarator) @definition.type

; DECLARE_MODULE(name) = { ... };: what it is called only the macro knows.
(declaration
  type: (type_identifier)
  declarator: (init_declarator declarator: (parenthesized_declarator (identifier) @name))) @ignore
; extern int elsewhere;
(declaration
  (storage_class_specifier "extern")
  declarator: [(identifier) (pointer_declarator) (array_declarator)] @declarator) @ignore

(declaration
  type: [(struct_specifier !name body: (_)) (union_specifier !name body: (_))] @owner
  declarator: (_) @declarator) @definition.variable
; Globals stand at the top, under a conditional, or in `extern "C" {` and `namespace {`.
(translation_unit (declaration declarator: (_) @declarator) @definition.variable)
(preproc_if (declaration declarator: (_) @declarator) @definition.variable)
(preproc_ifdef (declaration declarator: (_) @declarator) @definition.variable)
(preproc_elif (declaration declarator: (_) @declarator) @definition.variable)
(preproc_else (declaration declarator: (_) @declarator) @definition.variable)
(declaration_list (declaration declarator: (_) @declarator) @definition.variable)
; Where a file cannot be read to its end, a local of a function that was cut up looks the same, but for this word.
(ERROR (declaration (storage_class_specifier "static") declarator: (_) @declarator) @definition.variable)
