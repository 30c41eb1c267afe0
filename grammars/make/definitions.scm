; Make: targets, variables, and what `define` names. `.PHONY` and its like are settings, not targets.

(rule (targets (word) @name) (#not-match? @name "^\\.[A-Z_]+$") (recipe)? @body) @definition.target
(rule (targets (concatenation) @name) (recipe)? @body) @definition.target
(define_directive name: (_) @name) @definition.macro
(variable_assignment name: (_) @name) @definition.variable
