; Haskell. A signature and the equations under it are one symbol, at the signature.

(header module: (module) @name) @definition.module

(data_type name: (_) @name constructors: (gadt_constructors) @body) @definition.type
(data_type name: (_) @name) @definition.type
(data_type (infix operator: (_) @name)) @definition.type
(newtype name: (_) @name) @definition.type
(type_synomym name: (_) @name) @definition.type
(type_family name: (_) @name) @definition.type
(data_family name: (_) @name) @definition.type
(class name: (_) @name declarations: (_)? @body) @definition.trait
; What an instance defines belongs to the type it is for.
(instance patterns: (type_patterns . (_) @name)) @container

; A constructor is a value of its type, like the member of an enum elsewhere.
(data_constructor
  [
    (record name: (constructor) @name)
    (prefix name: (constructor) @name)
    (infix operator: (constructor_operator) @name)
  ]) @definition.constant
(newtype_constructor name: (constructor) @name) @definition.constant
(gadt_constructor name: (constructor) @name) @definition.constant
(gadt_constructor names: (binding_list name: (constructor) @name)) @definition.constant
(field name: (field_name (variable) @name)) @definition.field
(pattern_synonym
  (equation synonym: [(constructor) @name (apply function: (constructor) @name)])) @definition.constant
(foreign_import signature: (signature name: (variable) @name)) @definition.function

; A name for a plain value; what is applied, like `IO ()`, runs.
(declarations
  (signature
    name: (variable) @name @clause
    type: [(name) (list) (tuple) (qualified)]) @definition.constant)
(declarations
  (signature name: [(variable) @name @clause (prefix_id (_) @name @clause)]) @definition.function)
(declarations
  (bind
    name: (variable) @name @clause
    match: (match expression: [(literal) (list) (tuple) (record)])) @definition.constant)
(declarations
  (bind
    name: [(variable) @name @clause (prefix_id (_) @name @clause)]
    . match: (match) @body) @definition.function)
(class_declarations
  (signature name: [(variable) @name @clause (prefix_id (_) @name @clause)]) @definition.method)
(class_declarations
  (signature names: (binding_list [(variable) @name (prefix_id (_) @name)])) @definition.method)
(class_declarations (default_signature) @attribute)
(class_declarations (type_family name: (_) @name) @definition.type)
(instance_declarations
  (bind
    name: [(variable) @name @clause (prefix_id (_) @name @clause)]
    . match: (match) @body) @definition.function)

(function
  name: [(variable) @name @clause (prefix_id (_) @name @clause)]
  patterns: (_)
  . match: (match) @body) @definition.function
(function
  (infix operator: [(operator) @name @clause (infix_id (variable) @name @clause)])
  . match: (match) @body) @definition.function
(function
  name: [(variable) @name @clause (prefix_id (_) @name @clause)]) @definition.function

(lambda) @local
