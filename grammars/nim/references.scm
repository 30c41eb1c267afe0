(call function: [(identifier) @call (dot_expression right: (identifier) @call)
  (bracket_expression left: [(identifier) @call (dot_expression right: (identifier) @call)])])
(dot_expression right: (identifier) @use)
(object_declaration inherits: (type_expression (identifier) @inherit))
(type_expression (identifier) @type)
(type_expression (bracket_expression left: (identifier) @type))
(argument_list (identifier) @use)
(import_statement) @import
(import_from_statement) @import
(include_statement) @import
