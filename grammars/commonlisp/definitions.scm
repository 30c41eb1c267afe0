; Common Lisp. The grammar knows the `defun` family; other definitions are lists whose first symbol tells.

(defun
  (defun_header
    keyword: (defun_keyword) @_keyword
    function_name: (_) @name
    lambda_list: (_))
  . value: (str_lit) @doc
  . value: (_) @body
  (#not-match? @_keyword "^(?i:defmacro|defmethod)$")) @definition.function
(defun
  (defun_header keyword: (defun_keyword) @_keyword function_name: (_) @name)
  (#match? @_keyword "^(?i:defmacro)$")) @definition.macro
(defun
  (defun_header keyword: (defun_keyword) @_keyword function_name: (_) @name)
  (#match? @_keyword "^(?i:defmethod)$")) @definition.method
(defun (defun_header function_name: (_) @name)) @definition.function

(list_lit
  . value: (sym_lit) @_form
  . value: [(kwd_lit) (sym_lit) (str_lit)] @name
  (#match? @_form "^(?i:defpackage|uiop:define-package|defsystem|asdf:defsystem)$")) @definition.module
(list_lit
  . value: (sym_lit) @_form
  . value: (sym_lit) @name
  (#match? @_form "^(?i:defclass|define-condition)$")) @definition.class
(list_lit
  . value: (sym_lit) @_form
  . value: [(sym_lit) @name (list_lit . value: (sym_lit) @name)]
  (#match? @_form "^(?i:defstruct)$")) @definition.struct
(list_lit
  . value: (sym_lit) @_form
  . value: (sym_lit) @name
  (#match? @_form "^(?i:deftype)$")) @definition.type
(list_lit
  . value: (sym_lit) @_form
  . value: (sym_lit) @name
  (#match? @_form "^(?i:defconstant|define-constant|alexandria:define-constant)$")) @definition.constant
(list_lit
  . value: (sym_lit) @_form
  . value: (sym_lit) @name
  (#match? @_form "^(?i:defvar|defparameter|defglobal|sb-ext:defglobal)$")) @definition.variable
