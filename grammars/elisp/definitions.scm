; Emacs Lisp. The grammar knows `defun`, `defmacro`, `defvar` and their like; other definitions are lists.

(function_definition name: (symbol) @name docstring: (string) @doc) @definition.function
(function_definition name: (symbol) @name) @definition.function
(macro_definition name: (symbol) @name docstring: (string) @doc) @definition.macro
(macro_definition name: (symbol) @name) @definition.macro
(special_form "defconst" . (symbol) @name) @definition.constant
(special_form "defvar" . (symbol) @name . (_) . (string) @doc) @definition.variable
(special_form "defvar" . (symbol) @name) @definition.variable

(list
  . (symbol) @_form
  . (symbol) @name
  (#match? @_form "^(cl-defun|cl-defgeneric|cl-defmethod|cl-defsubst|define-(minor|derived|globalized-minor)-mode|ert-deftest|define-inline|transient-define-(prefix|suffix))$"))
  @definition.function
(list . (symbol) @_form . (symbol) @name (#any-of? @_form "cl-defmacro" "pcase-defmacro")) @definition.macro
(list
  . (symbol) @_form
  . [(symbol) @name (list . (symbol) @name)]
  (#any-of? @_form "cl-defstruct" "defclass")) @definition.struct
(list
  . (symbol) @_form
  . (symbol) @name
  (#any-of? @_form "defcustom" "defvar-local" "defface" "defgroup" "defvar-keymap")) @definition.variable
