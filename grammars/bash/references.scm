; Commands: functions of the scripts among them. `source x` and `. x` import.

(command name: (command_name (word) @call) (#not-match? @call
    "^(source|\\.)$"))
(command
  name: (command_name (word) @_import)
  (#any-of? @_import "source" ".")) @import
