; PHP. A namespace is listed but lends its name to nobody: as a rule it does not enclose its classes.

(namespace_definition name: (namespace_name) @name) @definition.namespace

(class_declaration name: (name) @name) @definition.class
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.trait
(enum_declaration name: (name) @name) @definition.enum
(enum_case name: (name) @name) @definition.constant
(anonymous_class) @container

(function_definition name: (name) @name) @definition.function
(method_declaration name: (name) @name (#eq? @name "__construct")) @definition.constructor
(method_declaration name: (name) @name) @definition.method

(property_declaration (property_element name: (variable_name (name) @name))) @definition.property
(property_promotion_parameter name: (variable_name (name) @name)) @definition.property

(const_declaration (const_element . (name) @name)) @definition.constant
(function_call_expression
  function: (name) @_call
  arguments: (arguments . (argument [(string (string_content) @name) (encapsed_string (string_content) @name)]))
  (#eq? @_call "define")) @definition.constant

(program
  (expression_statement
    (assignment_expression
      left: (variable_name (name) @name)
      right: [(anonymous_function body: (_) @body) (arrow_function body: (_) @body)]) @definition.function))
(program
  (expression_statement
    (assignment_expression left: (variable_name (name) @name)) @definition.variable))
(program
  (_ (compound_statement
    (expression_statement
      (assignment_expression left: (variable_name (name) @name)) @definition.variable))))

(attribute_list) @attribute
