(list_lit . value: (sym_lit) @call (#not-match? @call "^(?i:def.*|in-package|let\\*?|if|cond|progn|quote|lambda|setf|setq)$"))
(list_lit value: (sym_lit) @use)
; #'name
(var_quoting_lit value: (sym_lit) @use)

(list_lit
  . value: (sym_lit) @_class
  . value: (sym_lit)
  . value: (list_lit value: (sym_lit) @inherit)
  (#match? @_class "^(?i:defclass|define-condition)$"))

(list_lit . value: (sym_lit) @_import (#match? @_import "^(?i:in-package|use-package|require|ql:quickload)$")) @import
