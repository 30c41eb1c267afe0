; Perl. `package A;` owns what follows, `package A { }` what it encloses; their names are complete. The code splits
; names like `A::b`.

(package_statement name: (package) @name (block) @body) @definition.module @absolute
(package_statement name: (package) @name) @definition.module @rest
(class_statement name: (package) @name (block) @body) @definition.class @absolute
(class_statement name: (package) @name) @definition.class @rest
(role_statement name: (package) @name) @definition.trait

(subroutine_declaration_statement
  name: (_) @name
  (#match? @name "::")) @definition.function @absolute
(subroutine_declaration_statement name: (_) @name) @definition.function
(method_declaration_statement name: (_) @name) @definition.method
; *name = sub { }
(assignment_expression
  left: (glob (varname) @name)
  right: [(anonymous_subroutine_expression) (refgen_expression)]) @definition.function

(use_statement
  module: (package) @_constant
  (list_expression . [
        (autoquoted_bareword) @name
        (string_literal content: (string_content) @name)
        (interpolated_string_literal content: (string_content) @name)
      ])
  (#eq? @_constant "constant")) @definition.constant
(use_statement
  module: (package) @_constant
  (autoquoted_bareword) @name
  (#eq? @_constant "constant")) @definition.constant
(use_statement
  module: (package) @_constant
  (anonymous_hash_expression (list_expression (autoquoted_bareword) @name))
  (#eq? @_constant "constant")) @definition.constant

(assignment_expression
  left: (variable_declaration "our" variable: (_ (varname) @name))) @definition.variable
(variable_declaration "our" variable: (_ (varname) @name)) @definition.variable
(variable_declaration "our" variables: (_ (varname) @name)) @definition.variable
(source_file
  (expression_statement
    (assignment_expression left: (variable_declaration "my" variable: (_ (varname) @name))) @definition.variable))

; has name => (is => 'ro'), of Moose, Moo and Mojo
(expression_statement
  (ambiguous_function_call_expression
    function: (function) @_has
    . arguments: [
        (autoquoted_bareword) @name
        (string_literal content: (string_content) @name)
        (interpolated_string_literal content: (string_content) @name)
      ])
  (#eq? @_has "has")) @definition.property
(expression_statement
  (ambiguous_function_call_expression
    function: (function) @_has
    . arguments: (list_expression
      . [
        (autoquoted_bareword) @name
        (string_literal content: (string_content) @name)
        (interpolated_string_literal content: (string_content) @name)
      ]))
  (#eq? @_has "has")) @definition.property

(anonymous_subroutine_expression) @local
