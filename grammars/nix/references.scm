(apply_expression function: (variable_expression name: (identifier) @call))
(apply_expression function: (select_expression attrpath: (attrpath attr: (identifier) @call .)))
(apply_expression argument: (variable_expression name: (identifier) @use))

(apply_expression
  function: (variable_expression name: (identifier) @_import)
  (#eq? @_import "import")) @import
