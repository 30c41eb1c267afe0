; Elixir. Everything is a call; the names of the calls tell what is defined. The clauses of a function, equal in
; name and number of arguments, are one symbol.

(call
  target: (identifier) @_keyword
  (arguments . (alias) @name)
  (do_block
    . (unary_operator
        operand: (call
          target: (identifier) @_moduledoc
          (arguments . [(string (quoted_content) @doc) (sigil (quoted_content) @doc)])))) @body
  (#eq? @_keyword "defmodule")
  (#eq? @_moduledoc "moduledoc")) @definition.module
(call
  target: (identifier) @_keyword
  (arguments . (alias) @name)
  (do_block)? @body
  (#eq? @_keyword "defmodule")) @definition.module
(call
  target: (identifier) @_keyword
  (arguments . (alias) @name)
  (do_block
    . (unary_operator
        operand: (call
          target: (identifier) @_moduledoc
          (arguments . [(string (quoted_content) @doc) (sigil (quoted_content) @doc)])))) @body
  (#eq? @_keyword "defprotocol")
  (#eq? @_moduledoc "moduledoc")) @definition.interface
(call
  target: (identifier) @_keyword
  (arguments . (alias) @name)
  (do_block)? @body
  (#eq? @_keyword "defprotocol")) @definition.interface
; defimpl Size, for: Map is the module Size.Map
(call
  target: (identifier) @_keyword
  (arguments . (alias) @scope (keywords (pair key: (keyword) @_for value: [(alias) @name (list . (alias) @name)])))
  (do_block)? @body
  (#eq? @_keyword "defimpl")
  (#match? @_for "^for:")) @definition.module
(call
  target: (identifier) @_keyword
  (arguments . (alias) @name .)
  (do_block)? @body
  (#eq? @_keyword "defimpl")) @definition.module

(call
  target: (identifier) @_keyword
  (arguments
    . [
      (identifier) @name @clause
      (call target: (identifier) @name (arguments) @clause)
      (binary_operator left: (identifier) @name @clause operator: "when")
      (binary_operator left: (call target: (identifier) @name (arguments) @clause) operator: "when")
    ])
  (do_block)? @body
  (#any-of? @_keyword "def" "defp" "defdelegate" "defn" "defnp")
  (#not-eq? @name "unquote")) @definition.function
(call
  target: (identifier) @_keyword
  (arguments
    . [
      (identifier) @name @clause
      (call target: (identifier) @name (arguments) @clause)
      (binary_operator left: (identifier) @name @clause operator: "when")
      (binary_operator left: (call target: (identifier) @name (arguments) @clause) operator: "when")
    ])
  (do_block)? @body
  (#any-of? @_keyword "defmacro" "defmacrop" "defguard" "defguardp")
  (#not-eq? @name "unquote")) @definition.macro

; def left + right
(call
  target: (identifier) @_keyword
  (arguments
    . [
      (binary_operator operator: _ @name @clause)
      (binary_operator left: (binary_operator operator: _ @name @clause) operator: "when")
      (unary_operator operator: _ @name @clause)
    ])
  (do_block)? @body
  (#any-of? @_keyword "def" "defp" "defdelegate")
  (#not-eq? @name "when")) @definition.function
(call
  target: (identifier) @_keyword
  (arguments
    . [
      (binary_operator operator: _ @name @clause)
      (binary_operator left: (binary_operator operator: _ @name @clause) operator: "when")
      (unary_operator operator: _ @name @clause)
    ])
  (do_block)? @body
  (#any-of? @_keyword "defmacro" "defmacrop" "defguard" "defguardp")
  (#not-eq? @name "when")) @definition.macro

(unary_operator
  operator: "@"
  operand: (call
    target: (identifier) @_attribute
    (arguments
      . (binary_operator
          left: [(identifier) @name (call target: (identifier) @name)]
          operator: "::")))
  (#any-of? @_attribute "type" "typep" "opaque")) @definition.type
(unary_operator
  operator: "@"
  operand: (call
    target: (identifier) @_attribute
    (arguments
      . [
        (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "::")
        (binary_operator
          left: (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "::")
          operator: "when")
      ]))
  (#any-of? @_attribute "callback" "macrocallback")) @definition.method

(unary_operator
  operator: "@"
  operand: (call
    target: (identifier) @_attribute
    (arguments . [(string (quoted_content) @doc) (sigil (quoted_content) @doc)]))
  (#any-of? @_attribute "doc" "typedoc")) @attribute
(unary_operator
  operator: "@"
  operand: (call target: (identifier) @_attribute)
  (#any-of? @_attribute "doc" "typedoc" "spec" "impl" "deprecated" "since" "dialyzer" "compile")) @attribute

; @timeout 5_000, but not what Elixir itself reads.
(unary_operator
  operator: "@"
  operand: (call target: (identifier) @name (arguments))
  (#not-match? @name
    "^(doc|typedoc|moduledoc|spec|impl|deprecated|since|dialyzer|compile|type|typep|opaque|callback|macrocallback|optional_callbacks|behaviour|derive|enforce_keys|before_compile|after_compile|after_verify|on_load|on_definition|external_resource|fallback_to_any|vsn|file|nifs|tag|moduletag|describetag)$")) @definition.constant

(call
  target: (identifier) @_struct
  (arguments
    [
      (list (atom) @name @definition.field)
      (list (keywords (pair key: (keyword) @name) @definition.field))
      (keywords (pair key: (keyword) @name) @definition.field)
    ])
  (#any-of? @_struct "defstruct" "defexception"))
