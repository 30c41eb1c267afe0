; Prerequisites are the targets that a target calls for; `$(CC)` uses a variable.
(prerequisites (word) @call)
(variable_reference (word) @use)
(include_directive) @import
