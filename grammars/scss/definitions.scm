; SCSS, beyond what it shares with CSS.

(mixin_statement name: (_) @name (block) @body) @definition.mixin
(function_statement name: (_) @name (block) @body) @definition.function
(rule_set (selectors (placeholder (identifier) @name)) (block) @body) @definition.rule

(stylesheet (declaration (property_name) @name (#match? @name "^\\$")) @definition.variable)
; The grammar does not know maps: `$sizes: (small: 1px);`
(stylesheet (ERROR . (variable) @name) @definition.variable)
