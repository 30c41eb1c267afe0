(type type: (identifier) @type)
(service_definition . (identifier) (identifier) @inherit)
(include_statement) @import
