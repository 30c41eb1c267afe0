; Bash, and what zsh and ksh share with it. Variables count where they are set at the top of a file: what a
; function sets is mostly its own.

(function_definition name: (word) @name) @definition.function

; `PATH=x command` sets it for that command only.
(command (variable_assignment name: (variable_name) @name)) @ignore
(program
  (declaration_command
    "readonly"
    (variable_assignment name: (variable_name) @name)) @definition.constant)
(program
  (declaration_command
    (word) @_option
    (variable_assignment name: (variable_name) @name)) @definition.constant
  (#match? @_option "^-[A-Za-qs-z]*r"))
(program
  (declaration_command
    (variable_assignment name: (variable_name) @name)) @definition.variable)
(program (variable_assignment name: (variable_name) @name) @definition.variable)

; alias ll='ls -l'
(command
  name: (command_name (word) @_alias)
  argument: [(word) @name (concatenation . (word) @name)]
  (#eq? @_alias "alias")
  (#match? @name "^[^=-][^=]*=")) @definition.macro
