(apply function: [(variable) @call (qualified id: (variable) @call)])
(infix operator: [(operator) @call (infix_id [(variable) @call (qualified id: (variable) @call)])])
; Handed on: `map f xs`, `f . g`, `x >>= f`.
(apply argument: [(variable) @use (qualified id: (variable) @use)])
(infix left_operand: (variable) @use)
(infix right_operand: (variable) @use)
(match expression: [(variable) @call (qualified id: (variable) @call)])
(exp [(variable) @call (qualified id: (variable) @call)])

(name) @type
(constructor) @type

(instance name: [(name) @inherit (qualified id: (name) @inherit)])
(deriving classes: [(name) @inherit (tuple (name) @inherit)])

(import) @import
