(call_expression . (identifier) @call)
(member_expression object: (identifier) @use)
(type (identifier) @type)
