(function_call
  name: [
    (identifier) @call
    (dot_index_expression field: (identifier) @call)
    (method_index_expression method: (identifier) @call)
  ]
  (#not-eq? @call "require"))

; setmetatable(Child, { __index = Base })
(function_call
  name: (identifier) @_set
  arguments: (arguments
    (table_constructor (field name: (identifier) @_index value: (identifier) @inherit)))
  (#eq? @_set "setmetatable")
  (#eq? @_index "__index"))

(function_call name: (identifier) @_require (#eq? @_require "require")) @import
