; CMake: functions, macros, targets, options and variables; commands are spelt in any case.

(function_def
  (function_command (argument_list . (argument) @name))
  (body)? @body) @definition.function
(macro_def
  (macro_command (argument_list . (argument) @name))
  (body)? @body) @definition.macro

(normal_command
  (identifier) @_command
  (argument_list . (argument) @name)
  (#match? @_command "^([aA][dD][dD]_([lL][iI][bB][rR][aA][rR][yY]|[eE][xX][eE][cC][uU][tT][aA][bB][lL][eE]|[cC][uU][sS][tT][oO][mM]_[tT][aA][rR][gG][eE][tT]))$")
  (#not-match? @name "[$<]")) @definition.target
(normal_command
  (identifier) @_command
  (argument_list . (argument) @name)
  (#match? @_command "^([oO][pP][tT][iI][oO][nN]|[sS][eE][tT])$")
  (#not-match? @name "[$\"]")) @definition.variable
(normal_command
  (identifier) @_command
  (argument_list . (argument) @name)
  (#match? @_command "^[pP][rR][oO][jJ][eE][cC][tT]$")) @definition.module
