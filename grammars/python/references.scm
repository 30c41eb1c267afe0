; Who is called, inherited from, named as a type, or handed on as a value. Captures stand on the name alone, but for
; imports and bindings, which are read as text.

(call function: [(identifier) @call (attribute attribute: (identifier) @call)])
(decorator [(identifier) @call (attribute attribute: (identifier) @call)])
(class_definition superclasses: (argument_list
  [(identifier) @inherit (attribute attribute: (identifier) @inherit) (subscript value: (identifier) @inherit)]))
(type [(identifier) @type (attribute attribute: (identifier) @type) (generic_type (identifier) @type)])
([
  (argument_list [(identifier) @use (attribute attribute: (identifier) @use)])
  (keyword_argument value: [(identifier) @use (attribute attribute: (identifier) @use)])
  (pair value: [(identifier) @use (attribute attribute: (identifier) @use)])
  (return_statement [(identifier) @use (attribute attribute: (identifier) @use)])
  (list (identifier) @use)
  (tuple (identifier) @use)
])
(assignment right: [(identifier) @use (attribute attribute: (identifier) @use)]) @bind
[(import_statement) (import_from_statement)] @import
(assignment right: [(call) (await (call))]) @bind
(assignment type: (type)) @bind
[(typed_parameter) (typed_default_parameter)] @bind
(return_statement [(call) (await (call)) (identifier) (attribute)]) @bind
(for_statement left: (identifier) right: [(identifier) (attribute)]) @bind
(as_pattern (call)) @bind
