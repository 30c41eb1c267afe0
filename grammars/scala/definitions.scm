; Scala 2 and 3. A block makes what it holds local; an extension lends the name of the type that it extends.

(class_definition name: (_) @name) @definition.class
(object_definition name: (_) @name) @definition.class
(package_object name: (_) @name) @definition.class
(trait_definition name: (_) @name) @definition.trait
(enum_definition name: (_) @name) @definition.enum
(simple_enum_case name: (_) @name) @definition.constant
(full_enum_case name: (_) @name) @definition.constant
(type_definition name: (_) @name) @definition.type

(function_definition name: (identifier) @name (#eq? @name "this")) @definition.constructor
(function_definition name: (_) @name) @definition.function
(function_declaration name: (_) @name) @definition.function
(given_definition name: (_) @name) @definition.variable

(val_definition
  (modifiers) @keyword pattern: (identifier) @name (#match? @keyword "final")) @definition.constant
(val_definition pattern: [
  (identifier) @name
  (identifiers (identifier) @name)
  (tuple_pattern (identifier) @name)
]) @definition.variable
(var_definition pattern: [
  (identifier) @name
  (identifiers (identifier) @name)
  (tuple_pattern (identifier) @name)
]) @definition.variable
(val_declaration name: (_) @name) @definition.variable
(var_declaration name: (_) @name) @definition.variable
; class Point(val x: Int), case class Point(x: Int)
(class_parameter ["val" "var"] name: (_) @name) @definition.field
(class_definition "case" class_parameters: (class_parameters (class_parameter name: (_) @name) @definition.field))
(full_enum_case
  class_parameters: (class_parameters (class_parameter name: (_) @name) @definition.field))

; new Runnable { ... } and `given Ordering[Int] with ...` are classes without a name of their own.
(instance_expression (template_body)) @container
(given_definition body: (with_template_body)) @container
(extension_definition parameters: (parameters (parameter type: (_) @name))) @container
(full_enum_case name: (_) @name) @container

[(block) (indented_block) (case_block) (indented_cases) (lambda_expression)] @local
(annotation) @attribute
