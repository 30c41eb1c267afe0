(call method: [(identifier) @call (constant) @call])
(superclass [(constant) @inherit (scope_resolution name: (constant) @inherit)])
(call receiver: (constant) @type)
(scope_resolution name: (constant) @type)
(body_statement (identifier) @call)
(call method: (identifier) @_require (#match? @_require "^(require|require_relative|load|autoload)$")) @import
