; The first symbol of a list is called; the vectors and lists of `ns` import.

(list_lit . value: (sym_lit name: (sym_name) @call) (#not-match? @call "^(def.*|ns|let|fn|if|do|quote|var|loop|recur|comment)$"))
(list_lit value: (sym_lit name: (sym_name) @use))
(vec_lit value: (sym_lit name: (sym_name) @use))

(list_lit
  . value: (sym_lit name: (sym_name) @_form)
  . value: (sym_lit)
  . value: (vec_lit)
  value: (sym_lit name: (sym_name) @inherit)
  (#any-of? @_form "defrecord" "deftype"))
(meta_lit value: (sym_lit name: (sym_name) @type))

(list_lit . value: (sym_lit name: (sym_name) @_ns) (#any-of? @_ns "ns" "require" "use" "import")) @import
