; The head of a definition looks like a call of what it defines: @head says which calls are none.

(call
  target: (identifier) @call
  (#not-match? @call
    "^(def|defp|defmacro|defmacrop|defguard|defguardp|defdelegate|defmodule|defprotocol|defimpl|defstruct|defexception|if|unless|case|cond|with|for|receive|try|quote|unquote|fn|alias|import|require|use)$"))
(call target: (dot right: (identifier) @call))
; &name/1
(unary_operator operator: "&" operand: (binary_operator left: (identifier) @call operator: "/"))
(unary_operator
  operator: "&"
  operand: (binary_operator left: (call target: (dot right: (identifier) @call)) operator: "/"))
; value |> name
(binary_operator operator: "|>" right: (identifier) @call)

(call
  target: (identifier) @_keyword
  (arguments
    . [
      (call target: (identifier) @head)
      (binary_operator left: (call target: (identifier) @head) operator: "when")
    ])
  (#any-of? @_keyword
    "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defn" "defnp"))
(unary_operator operator: "@" operand: (call target: (identifier) @head))
(unary_operator
  operator: "@"
  operand: (call (arguments . (binary_operator left: (call target: (identifier) @head) operator: "::"))))

(struct (alias) @type)
(dot left: (alias) @type)

(call target: (identifier) @_use (arguments . (alias) @inherit) (#eq? @_use "use"))
(unary_operator
  operand: (call target: (identifier) @_behaviour (arguments . (alias) @inherit) (#eq? @_behaviour "behaviour")))
(call target: (identifier) @_impl (arguments . (alias) @inherit) (#eq? @_impl "defimpl"))

(call
  target: (identifier) @_import
  (arguments)
  (#any-of? @_import "alias" "import" "require" "use")) @import
