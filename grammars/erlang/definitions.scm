; Erlang. Every clause is a form of its own here; those of one name and arity are one symbol.

(module_attribute name: (_) @name) @definition.module
(fun_decl clause: (function_clause name: (atom) @name args: (expr_args) @clause body: (_) @body)) @definition.function
(record_decl name: (atom) @name) @definition.struct
(record_decl fields: (record_field name: (atom) @name) @definition.field)
(type_alias name: (type_name name: (atom) @name)) @definition.type
(opaque name: (type_name name: (atom) @name)) @definition.type
(nominal name: (type_name name: (atom) @name)) @definition.type
(callback fun: (atom) @name) @definition.method
(pp_define lhs: (macro_lhs name: (_) @name args: (_))) @definition.macro
(pp_define lhs: (macro_lhs name: (_) @name)) @definition.constant

(spec) @attribute
(wild_attribute name: (attr_name name: (atom) @_doc) value: (_) @doc (#eq? @_doc "doc")) @attribute
