; Clojure. A definition is a list whose first symbol says what it defines; strings after the name document it.

; Read, but not compiled.
(dis_expr value: (list_lit . value: (sym_lit) . value: (sym_lit name: (sym_name) @name))) @ignore
(list_lit
  . value: (sym_lit name: (sym_name) @_comment)
  value: (list_lit . value: (sym_lit) . value: (sym_lit name: (sym_name) @name))
  (#eq? @_comment "comment")) @ignore

(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name) . value: (str_lit) @doc
  (#any-of? @_form "ns" "in-ns")) @definition.module
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name)
  (#any-of? @_form "ns" "in-ns")) @definition.module
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name)
  . value: (str_lit) @doc
  . value: (vec_lit)
  . value: (_) @body
  (#any-of? @_form "defn" "defn-" "definline" "deftest" "defspec")) @definition.function
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name)
  . value: (vec_lit)
  . value: (_) @body
  (#any-of? @_form "defn" "defn-" "definline" "deftest" "defspec")) @definition.function
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name) . value: (str_lit) @doc
  (#any-of? @_form "defn" "defn-" "definline" "deftest" "defspec")) @definition.function
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name)
  (#any-of? @_form "defn" "defn-" "definline" "deftest" "defspec")) @definition.function
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name) . value: (str_lit) @doc
  (#any-of? @_form "defmulti")) @definition.function
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name)
  (#any-of? @_form "defmulti")) @definition.function
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name)
  . value: (str_lit) @doc
  . value: (vec_lit)
  . value: (_) @body
  (#any-of? @_form "defmacro")) @definition.macro
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name)
  . value: (vec_lit)
  . value: (_) @body
  (#any-of? @_form "defmacro")) @definition.macro
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name) . value: (str_lit) @doc
  (#any-of? @_form "defmacro")) @definition.macro
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name)
  (#any-of? @_form "defmacro")) @definition.macro
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name) . value: (str_lit) @doc
  (#any-of? @_form "defprotocol" "definterface")) @definition.interface
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name)
  (#any-of? @_form "defprotocol" "definterface")) @definition.interface
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name)
  (#any-of? @_form "defrecord" "deftype")) @definition.struct
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name)
  (#eq? @_form "defmethod")) @definition.method
; (size [this] ...) in a protocol, record or extension
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  value: (list_lit . value: (sym_lit name: (sym_name) @name) . value: (vec_lit)) @definition.method
  (#any-of? @_form
    "defprotocol" "definterface" "defrecord" "deftype" "extend-type" "extend-protocol"))
; (size ([this] ...) ([this x] ...))
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  value: (list_lit
    . value: (sym_lit name: (sym_name) @name)
    . value: (list_lit . value: (vec_lit))) @definition.method
  (#any-of? @_form "defrecord" "deftype" "extend-type" "extend-protocol"))
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit) @name
  (#any-of? @_form "extend-type" "extend-protocol")) @container

; (def f (fn [x] x))
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name)
  . value: [
    (anon_fn_lit)
    (list_lit . value: (sym_lit name: (sym_name) @_fn) (#any-of? @_fn "fn" "fn*"))
  ]
  (#any-of? @_form "def" "defonce")) @definition.function
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name)
  . value: (str_lit) @doc
  . value: (_)
  (#any-of? @_form "def" "defonce")) @definition.variable
(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit name: (sym_name) @name)
  (#any-of? @_form "def" "defonce")) @definition.variable
; defroutes, defstate and what else libraries invent
(source
  (list_lit
    . value: (sym_lit name: (sym_name) @_form)
    . value: (sym_lit name: (sym_name) @name)
    (#match? @_form "^def[a-z-]*$")
    (#not-match? @_form "^(default|defer|deferred|deflate|definite).*$")) @definition.variable)
