; JavaScript, TypeScript and TSX alike.

(call_expression function: [(identifier) @call (member_expression property: (_) @call)])
(new_expression constructor: [(identifier) @call (member_expression property: (_) @call)])
(arguments [(identifier) @use (member_expression property: (property_identifier) @use)])
(pair value: [(identifier) @use (member_expression property: (property_identifier) @use)])
(shorthand_property_identifier) @use
(array (identifier) @use)
(return_statement (identifier) @use)
(assignment_expression right: (identifier) @use)
(variable_declarator value: (identifier) @use)
(arrow_function body: (identifier) @use)
(ternary_expression [(identifier)] @use)
(binary_expression [(identifier)] @use)
(spread_element (identifier) @use)
(import_statement) @import
(export_statement source: (string)) @import
(variable_declarator value: (call_expression function: (identifier) @_require (#eq? @_require "require"))) @import
(variable_declarator value: [(new_expression) (call_expression) (await_expression)]) @bind
(assignment_expression left: (member_expression) right: (new_expression)) @bind
(variable_declarator value: [(member_expression) (identifier)]) @bind
(assignment_expression left: (member_expression) right: [(identifier) (member_expression) (call_expression)]) @bind
(return_statement [(call_expression) (new_expression) (await_expression) (identifier) (member_expression) (this)]) @bind
(for_in_statement right: [(identifier) (member_expression)]) @bind
(call_expression function: (member_expression) arguments: (arguments . (arrow_function))) @bind
