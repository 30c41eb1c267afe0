; Julia. Each method of a function is a symbol of its own. A head is a call, maybe with `::Type` and `where` around.

(module_definition name: (identifier) @name (block)? @body) @definition.module

(function_definition
  (signature
    [
      (call_expression
        . [
          (identifier) @name
          (operator) @name
          (parametrized_type_expression . (identifier) @name)
        ])
      (typed_expression . (call_expression
        . [
          (identifier) @name
          (operator) @name
          (parametrized_type_expression . (identifier) @name)
        ]))
      (where_expression . (call_expression
        . [
          (identifier) @name
          (operator) @name
          (parametrized_type_expression . (identifier) @name)
        ]))
      (where_expression . (typed_expression . (call_expression
        . [
          (identifier) @name
          (operator) @name
          (parametrized_type_expression . (identifier) @name)
        ])))
      (where_expression . (where_expression . (call_expression
        . [
          (identifier) @name
          (operator) @name
          (parametrized_type_expression . (identifier) @name)
        ])))
    ])
  (block)? @body) @definition.function
; function Base.show(io, x): a method of another module's function
(function_definition
  (signature
    [
      (call_expression
        . (field_expression
          value: (_) @scope
          [(identifier) @name (quote_expression [(identifier) (operator)] @name)]))
      (typed_expression . (call_expression
        . (field_expression
          value: (_) @scope
          [(identifier) @name (quote_expression [(identifier) (operator)] @name)])))
      (where_expression . (call_expression
        . (field_expression
          value: (_) @scope
          [(identifier) @name (quote_expression [(identifier) (operator)] @name)])))
      (where_expression . (typed_expression . (call_expression
        . (field_expression
          value: (_) @scope
          [(identifier) @name (quote_expression [(identifier) (operator)] @name)]))))
      (where_expression . (where_expression . (call_expression
        . (field_expression
          value: (_) @scope
          [(identifier) @name (quote_expression [(identifier) (operator)] @name)]))))
    ])
  (block)? @body) @definition.function @absolute
(function_definition (signature . (identifier) @name .)) @definition.function
(assignment
  . [
      (call_expression
        . [
          (identifier) @name
          (operator) @name
          (parametrized_type_expression . (identifier) @name)
        ])
      (typed_expression . (call_expression
        . [
          (identifier) @name
          (operator) @name
          (parametrized_type_expression . (identifier) @name)
        ]))
      (where_expression . (call_expression
        . [
          (identifier) @name
          (operator) @name
          (parametrized_type_expression . (identifier) @name)
        ]))
      (where_expression . (typed_expression . (call_expression
        . [
          (identifier) @name
          (operator) @name
          (parametrized_type_expression . (identifier) @name)
        ])))
      (where_expression . (where_expression . (call_expression
        . [
          (identifier) @name
          (operator) @name
          (parametrized_type_expression . (identifier) @name)
        ])))
    ]
  (operator)) @definition.function
(assignment
  . [
      (call_expression
        . (field_expression
          value: (_) @scope
          [(identifier) @name (quote_expression [(identifier) (operator)] @name)]))
      (typed_expression . (call_expression
        . (field_expression
          value: (_) @scope
          [(identifier) @name (quote_expression [(identifier) (operator)] @name)])))
      (where_expression . (call_expression
        . (field_expression
          value: (_) @scope
          [(identifier) @name (quote_expression [(identifier) (operator)] @name)])))
      (where_expression . (typed_expression . (call_expression
        . (field_expression
          value: (_) @scope
          [(identifier) @name (quote_expression [(identifier) (operator)] @name)]))))
      (where_expression . (where_expression . (call_expression
        . (field_expression
          value: (_) @scope
          [(identifier) @name (quote_expression [(identifier) (operator)] @name)]))))
    ]
  (operator)) @definition.function @absolute
(assignment
  . (identifier) @name
  (operator)
  . [(arrow_function_expression) (function_definition)]) @definition.function
(macro_definition (signature (call_expression . [(identifier) (operator)] @name)) (block)? @body) @definition.macro

(struct_definition
  (type_head
    [
      (identifier) @name
      (parametrized_type_expression . (identifier) @name)
      (binary_expression . (identifier) @name)
      (binary_expression . (parametrized_type_expression . (identifier) @name))
    ])
  (block)? @body) @definition.struct
(abstract_definition
  (type_head
    [
      (identifier) @name
      (parametrized_type_expression . (identifier) @name)
      (binary_expression . (identifier) @name)
      (binary_expression . (parametrized_type_expression . (identifier) @name))
    ])) @definition.type
(primitive_definition
  (type_head
    [
      (identifier) @name
      (parametrized_type_expression . (identifier) @name)
      (binary_expression . (identifier) @name)
      (binary_expression . (parametrized_type_expression . (identifier) @name))
    ])) @definition.type
(struct_definition (block (typed_expression . (identifier) @name) @definition.field))
(struct_definition (block (identifier) @name @definition.field))
(struct_definition
  (block (assignment . [(identifier) @name (typed_expression . (identifier) @name)]) @definition.field))

(macrocall_expression
  (macro_identifier (identifier) @_enum)
  (macro_argument_list . [(identifier) @name (typed_expression . (identifier) @name)])
  (#eq? @_enum "enum")) @definition.enum
(macrocall_expression
  (macro_identifier (identifier) @_enum)
  (macro_argument_list (_) (identifier) @name @definition.constant)
  (#eq? @_enum "enum"))

(const_statement (assignment . [(identifier) @name (typed_expression . (identifier) @name)])) @definition.constant
(const_statement (assignment . (open_tuple (identifier) @name))) @definition.constant
(source_file (assignment . [(identifier) @name (typed_expression . (identifier) @name)]) @definition.variable)
(module_definition
  (block (assignment . [(identifier) @name (typed_expression . (identifier) @name)]) @definition.variable))
(global_statement (assignment . (identifier) @name)) @definition.variable

; A string above a definition documents it.
((string_literal) @attribute @doc
  . [
    (function_definition)
    (assignment)
    (struct_definition)
    (abstract_definition)
    (macro_definition)
    (const_statement)
    (macrocall_expression)
    (module_definition)
    (identifier)
  ])

(arrow_function_expression) @local
(do_clause) @local
