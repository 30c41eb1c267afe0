; Ruby. The code splits names like `A::B` into owner and name.

(module name: (_) @name) @definition.module
(class name: (_) @name) @definition.class
(method name: (_) @name) @definition.function
(singleton_method object: (_) @scope name: (_) @name) @definition.method

(assignment left: (constant) @name) @definition.constant
(assignment left: (left_assignment_list (constant) @name)) @definition.constant
(operator_assignment left: (constant) @name) @definition.constant
; Point = Struct.new(:x) do ... end
(assignment left: (constant) @name right: (call block: (_))) @container

(alias name: (_) @name) @definition.method
(call
  method: (identifier) @_call
  arguments: (argument_list . (simple_symbol) @name)
  (#any-of? @_call "alias_method" "define_method")) @definition.method
(call
  !receiver
  method: (identifier) @_call
  arguments: (argument_list (simple_symbol) @name)
  (#any-of? @_call "attr_reader" "attr_writer" "attr_accessor")) @definition.property
