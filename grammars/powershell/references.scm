(command command_name: (command_name) @call (#not-match? @call "^(?i:using|import-module|param)$"))
(command command_name: (command_name_expr (command_name) @call))
(invokation_expression (member_name (simple_name) @call))

(type_identifier) @type
(class_statement . (simple_name) . (simple_name) @inherit)
(class_statement . (simple_name) . (simple_name) . (simple_name) @inherit)

(command command_name: (command_name) @_import (#match? @_import "^(?i:using|import-module)$")) @import
(command (command_invokation_operator) @_dot (#eq? @_dot ".")) @import
