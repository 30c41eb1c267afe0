(function_call function: [(identifier) @call (field_access field: (label) @call)])
(binary_expression operator: "|>" right: (identifier) @call)
(argument value: (identifier) @use)

(type name: (type_identifier) @type)
(record name: (constructor_name) @use)

(import) @import
