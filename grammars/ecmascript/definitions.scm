; What JavaScript, TypeScript and TSX share. A pattern that stands earlier wins over a later one on one name.

(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function

(class_declaration name: (_) @name) @definition.class

(method_definition
  name: [(property_identifier) (private_property_identifier)] @name
  (#eq? @name "constructor")) @definition.constructor
(method_definition
  name: [(property_identifier) (private_property_identifier) (string) (number)] @name) @definition.method

; const f = () => ..., const C = class ...
(variable_declarator
  name: (identifier) @name
  value: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
    (generator_function body: (_) @body)
  ]) @definition.function
(variable_declarator
  name: (identifier) @name
  value: (class body: (_) @body)) @definition.class

(lexical_declaration
  kind: "const"
  (variable_declarator name: (identifier) @name) @definition.constant)
(lexical_declaration
  kind: "let"
  (variable_declarator name: (identifier) @name) @definition.variable)
(variable_declaration
  (variable_declarator name: (identifier) @name) @definition.variable)

; const table = { run() {}, stop: () => {} }
(variable_declarator name: (identifier) @name value: (object)) @container
(pair
  key: [(property_identifier) (string)] @name
  value: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
    (generator_function body: (_) @body)
  ]) @definition.method

; Foo.prototype.bar = function () {}, exports.run = () => {}
(assignment_expression
  left: (member_expression
    object: (_) @scope
    property: [(property_identifier) (private_property_identifier)] @name)
  right: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
    (generator_function body: (_) @body)
  ]) @definition.function

[(arrow_function) (function_expression) (generator_function)] @local
(decorator) @attribute
