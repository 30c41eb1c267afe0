; OCaml: what only implementations have. What a `let ... in` binds to a value is local; local functions count.

(let_binding
  pattern: [(value_name) @name (parenthesized_operator (_) @name)]
  (parameter)) @definition.function
(let_binding
  pattern: [(value_name) @name (parenthesized_operator (_) @name)]
  body: [(fun_expression) (function_expression)]) @definition.function
(compilation_unit
  (value_definition
    (let_binding pattern: (value_name) @name (#not-eq? @name "_")) @definition.variable))
(structure
  (value_definition
    (let_binding pattern: (value_name) @name (#not-eq? @name "_")) @definition.variable))

(method_definition (method_name) @name) @definition.method
(instance_variable_definition (instance_variable_name) @name) @definition.field

(fun_expression) @local
(function_expression) @local
