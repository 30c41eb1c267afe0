; Nix. A binding to a function is a function, wherever it stands; other values count at the top of a file.

(binding
  attrpath: (attrpath) @name
  expression: (function_expression body: (_) @body)) @definition.function
(source_code
  expression: (_
    (binding_set (binding attrpath: (attrpath) @name) @definition.variable)))
(source_code
  expression: (function_expression
    body: (_ (binding_set (binding attrpath: (attrpath) @name) @definition.variable))))
(source_code
  expression: (let_expression
    body: (_ (binding_set (binding attrpath: (attrpath) @name) @definition.variable))))
(source_code
  expression: (function_expression
    body: (let_expression
      body: (_ (binding_set (binding attrpath: (attrpath) @name) @definition.variable)))))
