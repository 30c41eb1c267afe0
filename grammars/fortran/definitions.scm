; Fortran. Names are compared without case by the language, but kept as written.

(module (module_statement (name) @name)) @definition.module
(submodule (submodule_statement (name) @name)) @definition.module
(program (program_statement (name) @name)) @definition.module
(function (function_statement name: (name) @name)) @definition.function
(subroutine (subroutine_statement name: (name) @name)) @definition.function
(module_procedure (module_procedure_statement name: (name) @name)) @definition.function
(interface (interface_statement (name) @name)) @definition.interface

(derived_type_definition (derived_type_statement (type_name) @name)) @definition.struct
(derived_type_definition
  (variable_declaration
    declarator: [
      (identifier) @name
      (init_declarator left: (identifier) @name)
      (sized_declarator . (identifier) @name)
    ]) @definition.field)
(derived_type_procedures
  (procedure_statement
    declarator: [
      (binding (binding_name (identifier) @name))
      (method_name) @name
    ]) @definition.method)

(variable_declaration
  attribute: (type_qualifier) @_parameter
  declarator: (init_declarator left: (identifier) @name)
  (#match? @_parameter "^[pP][aA][rR]")) @definition.constant
(module
  (variable_declaration
    declarator: [
      (identifier) @name
      (init_declarator left: (identifier) @name)
      (sized_declarator . (identifier) @name)
    ]) @definition.variable)
