; Who is called, inherited from, named as a type, or handed on as a value. Captures stand on the name alone.

(call function: [(identifier) @call (attribute attribute: (identifier) @call)])
(decorator [(identifier) @call (attribute attribute: (identifier) @call)])
(class_definition superclasses: (argument_list
  [(identifier) @inherit (attribute attribute: (identifier) @inherit) (subscript value: (identifier) @inherit)]))
(type [(identifier) @type (attribute attribute: (identifier) @type)])
(type (generic_type (identifier) @type))
(argument_list [(identifier) @use (attribute attribute: (identifier) @use)])
(keyword_argument value: [(identifier) @use (attribute attribute: (identifier) @use)])
(pair value: [(identifier) @use (attribute attribute: (identifier) @use)])
(assignment right: [(identifier) @use (attribute attribute: (identifier) @use)])
(return_statement [(identifier) @use (attribute attribute: (identifier) @use)])
(list [(identifier) @use (attribute attribute: (identifier) @use)])
(tuple [(identifier) @use (attribute attribute: (identifier) @use)])
(boolean_operator [(identifier) @use (attribute attribute: (identifier) @use)])
(conditional_expression [(identifier) @use (attribute attribute: (identifier) @use)])
(import_statement) @import
(import_from_statement) @import
(assignment right: (call)) @bind
(assignment right: (await (call))) @bind
(assignment right: [(identifier) (attribute)]) @bind
(for_statement left: (identifier) right: [(identifier) (attribute)]) @bind
(assignment type: (type)) @bind
(typed_parameter) @bind
(typed_default_parameter) @bind
(as_pattern (call)) @bind
