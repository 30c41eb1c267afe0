; Commands are calls; so is naming a target where targets are linked.
(normal_command . (identifier) @call)
(normal_command
  (identifier) @_command
  (argument_list (argument (unquoted_argument) @use))
  (#match? @_command "^(target_|add_dependencies|install|set_target_properties)"))
(variable_ref (normal_var (variable) @use))
(normal_command (identifier) @_command (#match? @_command "^([iI][nN][cC][lL][uU][dD][eE]|[aA][dD][dD]_[sS][uU][bB][dD][iI][rR][eE][cC][tT][oO][rR][yY])$")) @import
