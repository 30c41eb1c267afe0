; F#.

(named_module name: (long_identifier) @name) @definition.module
(module_defn (identifier) @name) @definition.module
; A file that cannot be read to its end is one error, and the module's name its first word. Indentation says how far a
; module or type inside of it reaches.
(ERROR "module" . (access_modifier)? . (long_identifier) @name) @definition.module
(ERROR "module" @definition.module . (access_modifier)? . (identifier) @name . "=")
(ERROR "type" @container . (access_modifier)? . (type_name type_name: (_) @name))

(function_or_value_defn
  (function_declaration_left
    [(identifier) (op_identifier) (active_pattern)] @name)) @definition.function
(declaration_expression
  (attributes (attribute (simple_type (long_identifier (identifier) @_literal))))
  (function_or_value_defn
    (value_declaration_left (identifier_pattern (long_identifier_or_op (identifier) @name)))) @definition.constant
  (#eq? @_literal "Literal"))
; let f = fun x -> x
(function_or_value_defn
  (value_declaration_left (identifier_pattern (long_identifier_or_op (identifier) @name)))
  body: [(fun_expression) (function_expression)]) @definition.function
(function_or_value_defn
  (value_declaration_left
    (identifier_pattern (long_identifier_or_op (identifier) @name)))) @definition.variable
(function_or_value_defn (value_declaration_left) body: (_) @local)

(record_type_defn (type_name type_name: (_) @name)) @definition.struct
(record_field . (identifier) @name) @definition.field
; `type Name = string` is read as a union of one case.
(union_type_defn (type_name type_name: (_) @name) block: (union_type_cases "|")) @definition.enum
(union_type_defn (type_name type_name: (_) @name)) @definition.type
(union_type_cases "|" (union_type_case (identifier) @name) @definition.constant)
(union_type_cases . (union_type_case (identifier) @name) @definition.constant . "|")
(enum_type_defn (type_name type_name: (_) @name)) @definition.enum
(enum_type_case (identifier) @name) @definition.constant
(delegate_type_defn (type_name type_name: (_) @name)) @definition.type
(type_abbrev_defn (type_name type_name: (_) @name)) @definition.type
(anon_type_defn (type_name type_name: (_) @name) . block: (type_extension_elements . (member_defn (member_signature)))) @definition.interface
(anon_type_defn (type_name type_name: (_) @name)) @definition.class
(interface_type_defn (type_name type_name: (_) @name)) @definition.interface
(type_extension (type_name type_name: (_) @name)) @container
(exception_definition exception_name: (long_identifier (identifier) @name)) @definition.error

(member_defn
  (method_or_prop_defn
    name: (property_or_ident [method: (identifier) @name (op_identifier) @name])
    args: (_))) @definition.method
(member_defn (method_or_prop_defn name: (property_or_ident . [(identifier) (op_identifier)] @name .) args: (_))) @definition.method
(member_defn (method_or_prop_defn name: (property_or_ident method: (identifier) @name))) @definition.property
(member_defn (method_or_prop_defn name: (property_or_ident . (identifier) @name .))) @definition.property
(member_defn (property_or_ident . (identifier) @name .)) @definition.property
(member_defn (member_signature (identifier) @name)) @definition.method
(member_defn (additional_constr_defn "new" @name)) @definition.constructor

(attributes) @attribute
(fun_expression) @local
