(invocation (object_reference name: (identifier) @call))
(relation (object_reference name: (identifier) @use))
(column_definition (object_reference name: (identifier) @type))
(create_trigger (object_reference name: (identifier) @call) .)
