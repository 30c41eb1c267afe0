(include_statement . (identifier) @call)
(call_expression (function_name) @call)
(import_statement) @import
(use_statement) @import
