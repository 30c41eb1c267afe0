; R. A function is a value that is assigned; S4, reference and R6 classes are calls.

(binary_operator
  lhs: [(identifier) @name (string content: (string_content) @name)]
  operator: ["<-" "=" "<<-" ":="]
  rhs: (function_definition body: (_) @body)) @definition.function
(binary_operator
  lhs: (extract_operator lhs: (_) @scope rhs: (identifier) @name)
  operator: ["<-" "=" "<<-"]
  rhs: (function_definition body: (_) @body)) @definition.function

; Person <- R6Class("Person", public = list(run = function() 1))
(binary_operator
  lhs: (identifier) @name
  operator: ["<-" "="]
  rhs: (call
    function: [(identifier) @_class (namespace_operator rhs: (identifier) @_class)]
    (#any-of? @_class "R6Class" "setRefClass" "ggproto" "new_class"))) @definition.class
(call
  function: [(identifier) @_class (namespace_operator rhs: (identifier) @_class)]
  arguments: (arguments
    argument: (argument
      value: (call
        function: (identifier) @_list
        arguments: (arguments
          argument: (argument
            name: (identifier) @name
            value: (function_definition body: (_) @body)) @definition.method))))
  (#any-of? @_class "R6Class" "setRefClass")
  (#eq? @_list "list"))
(call
  function: (identifier) @_class
  arguments: (arguments . argument: (argument value: (string content: (string_content) @name)))
  (#any-of? @_class "setClass" "setClassUnion")) @definition.class
(call
  function: (identifier) @_generic
  arguments: (arguments . argument: (argument value: (string content: (string_content) @name)))
  (#eq? @_generic "setGeneric")) @definition.function
(call
  function: (identifier) @_method
  arguments: (arguments
    . argument: (argument value: (string content: (string_content) @name)))
  (#any-of? @_method "setMethod" "setReplaceMethod")) @definition.method

(program
  (binary_operator
    lhs: [(identifier) @name (string content: (string_content) @name)]
    operator: ["<-" "=" "<<-"]) @definition.variable)
(program
  (binary_operator operator: ["->" "->>"] rhs: (identifier) @name) @definition.variable)

(function_definition) @local
