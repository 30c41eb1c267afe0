; Python. A variable named LIKE_THIS is a constant; what is assigned inside a function is dropped by the code.

(function_definition name: (identifier) @name) @definition.function
(class_definition name: (identifier) @name) @definition.class

(assignment left: (identifier) @name right: (lambda body: (_) @body)) @definition.function
(assignment left: (identifier) @name) @definition.variable
(assignment
  left: [(pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]) @definition.variable
(type_alias_statement
  left: (type [(identifier) @name (generic_type (identifier) @name)])) @definition.type

(lambda) @local
(decorator) @attribute
