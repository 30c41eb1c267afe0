; Lua. `M.f` and `M:f` belong to M; what a table constructor holds, to the variable it is assigned to.

(function_declaration name: (identifier) @name) @definition.function
(function_declaration
  name: (dot_index_expression table: (_) @scope field: (identifier) @name)) @definition.function
(function_declaration
  name: (method_index_expression table: (_) @scope method: (identifier) @name)) @definition.method

(assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition))) @definition.function
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @scope field: (identifier) @name))
  (expression_list . value: (function_definition))) @definition.function
(assignment_statement
  (variable_list
    . name: (bracket_index_expression table: (_) @scope field: (string content: (string_content) @name)))
  (expression_list . value: (function_definition))) @definition.function
(field name: (identifier) @name value: (function_definition)) @definition.function
(field name: (string content: (string_content) @name) value: (function_definition)) @definition.function

(assignment_statement
  (variable_list . name: (_) @name)
  (expression_list . value: (table_constructor))) @container

; local json = require "json"
(assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_call name: (identifier) @_require))
  (#eq? @_require "require")) @ignore
(chunk
  (variable_declaration
    (assignment_statement
      (variable_list name: (identifier) @name . attribute: (attribute (identifier) @_const))
      (#eq? @_const "const")) @definition.constant))
(chunk
  (variable_declaration
    (assignment_statement (variable_list name: (identifier) @name)) @definition.constant)
  (#match? @name "^[A-Z][A-Z0-9_]+$"))
(chunk
  (assignment_statement (variable_list name: (identifier) @name)) @definition.constant
  (#match? @name "^[A-Z][A-Z0-9_]+$"))
(chunk
  (variable_declaration
    (assignment_statement (variable_list name: (identifier) @name)) @definition.variable))
(chunk (assignment_statement (variable_list name: (identifier) @name)) @definition.variable)
(chunk
  (assignment_statement
    (variable_list
      name: (dot_index_expression table: (identifier) @scope field: (identifier) @name))) @definition.variable)

(function_definition) @local
