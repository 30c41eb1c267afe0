; What JavaScript, TypeScript and TSX share. A pattern that stands earlier wins over a later one on one name.

(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(function_expression name: (identifier) @name @inner) @definition.function
(generator_function name: (identifier) @name @inner) @definition.function

(class_declaration name: (_) @name) @definition.class
(class name: (_) @name) @definition.class

(method_definition
  name: [(property_identifier) (private_property_identifier)] @name
  (#eq? @name "constructor")) @definition.constructor
(method_definition
  name: [
    (property_identifier) (private_property_identifier) (computed_property_name) (string) (number)
  ] @name) @definition.method

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
  value: (call_expression
    function: (member_expression
      object: (function_expression body: (_) @body)
      property: (property_identifier) @_bind))
  (#eq? @_bind "bind")) @definition.function
(assignment_expression
  left: (identifier) @name
  right: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
    (generator_function body: (_) @body)
  ]) @definition.function
(variable_declarator
  name: (identifier) @name
  value: (class body: (_) @body)) @definition.class

; for (let i = 0; ...) { ... }
(for_statement initializer: (lexical_declaration (variable_declarator name: (identifier) @name))) @ignore
; const action = register({ run() {} }), var Server = (function () { ... })(): what a module's variable is made of is its
; own; what a local one is made of is not, since a callback is more likely there.
(lexical_declaration
  kind: "const"
  (variable_declarator
    name: (identifier) @name
    value: [
      (call_expression) (new_expression) (array) (parenthesized_expression)
    ] @owner) @definition.constant)
(lexical_declaration
  kind: "const"
  (variable_declarator name: (identifier) @name) @definition.constant)
(lexical_declaration
  kind: "let"
  (variable_declarator name: (identifier) @name) @definition.variable)
(variable_declaration
  (variable_declarator
    name: (identifier) @name
    value: [(call_expression) (new_expression) (array) (parenthesized_expression)] @owner) @definition.variable)
(variable_declaration
  (variable_declarator name: (identifier) @name) @definition.variable)

; const { a, b: c } = ..., [d] = ...; what is taken out of a `require` is imported, not defined
(variable_declarator
  name: (object_pattern [
    (shorthand_property_identifier_pattern) @name
    (pair_pattern value: (identifier) @name)
  ])
  value: (call_expression function: (identifier) @_require)
  (#eq? @_require "require")) @ignore
(lexical_declaration
  kind: "const"
  (variable_declarator
    name: [
      (object_pattern (shorthand_property_identifier_pattern) @name)
      (object_pattern (pair_pattern value: (identifier) @name))
      (array_pattern (identifier) @name)
    ]) @definition.constant)
(variable_declarator
  name: [
    (object_pattern (shorthand_property_identifier_pattern) @name)
    (object_pattern (pair_pattern value: (identifier) @name))
    (array_pattern (identifier) @name)
  ]) @definition.variable

; const table = { run() {}, stop: () => {}, inner: { more() {} } }; Foo.table = { run() {} }; module.exports = { run() {} }
(variable_declarator name: (identifier) @name value: (object)) @container
(assignment_expression left: [(identifier) (member_expression)] @name right: (object)) @container
(assignment_expression
  left: (member_expression) @name right: (call_expression arguments: (arguments (object)))) @container
; Object.assign(Foo.prototype, { run() {} }), _.extend(Foo, { run() {} })
(call_expression
  function: (member_expression property: (property_identifier) @_into)
  arguments: (arguments . [(identifier) (member_expression)] @name (object))
  (#match? @_into "^(assign|extend)$")) @container
(variable_declarator
  name: (identifier) @name value: (call_expression arguments: (arguments (object)))
  (#match? @name "^[A-Z]")) @container
(pair key: [(property_identifier) (string)] @name value: (object)) @container
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

; Foo.Template = class { ... }
(assignment_expression
  left: (member_expression object: (_) @scope property: (property_identifier) @name)
  right: (class body: (_) @body)
  (#not-eq? @name "exports")) @definition.class

; Foo.prototype.bar = baz
(assignment_expression
  left: (member_expression
    object: (member_expression property: (property_identifier) @_prototype) @scope
    property: (property_identifier) @name)
  right: [(identifier) (member_expression) (call_expression) (assignment_expression)] @leaf
  (#eq? @_prototype "prototype")) @definition.method

; (function () { ... })() and (function () { ... }.call(this)) around a whole file
(program
  (expression_statement
    [
      (call_expression function: (parenthesized_expression (function_expression) @toplevel))
      (call_expression
        function: (member_expression object: (parenthesized_expression (function_expression) @toplevel)))
      (parenthesized_expression (call_expression function: (function_expression) @toplevel))
      (parenthesized_expression
        (call_expression function: (member_expression object: (function_expression) @toplevel)))
    ]))

[(arrow_function) (function_expression) (generator_function)] @local
(decorator) @attribute
