; Groovy and Gradle. The grammar knows neither classes nor methods: it reads a line as a `command` of words (`unit`) and
; blocks, and a block takes the word before it along. So a definition is told by its words: the keyword before a type's
; name; a type, `def` or `void` before the name of a method or field.

(command
  (unit . (identifier) @keyword .) . [(unit . [(identifier) @name (generics_class . (identifier) @name)])
    (block . (unit . [(identifier) @name (generics_class . (identifier) @name)]))]
  (#eq? @keyword "class")) @definition.class
(command
  (unit . (identifier) @keyword .) . [(unit . [(identifier) @name (generics_class . (identifier) @name)])
    (block . (unit . [(identifier) @name (generics_class . (identifier) @name)]))]
  (#eq? @keyword "interface")) @definition.interface
(command
  (decorate (identifier) @keyword) . (block . (unit . (identifier) @name))
  (#eq? @keyword "interface")) @definition.interface
(command
  (unit . (identifier) @keyword .) . [(unit . [(identifier) @name (generics_class . (identifier) @name)])
    (block . (unit . [(identifier) @name (generics_class . (identifier) @name)]))]
  (#eq? @keyword "trait")) @definition.trait
(command
  (unit . (identifier) @keyword .) . [(unit . (identifier) @name) (block . (unit . (identifier) @name))]
  (#eq? @keyword "enum")) @definition.enum

; A constant of an enum stands in the first command of its block.
(command
  (unit . (identifier) @keyword .)
  (block . (unit) . [(line_comment) (block_comment)]* . (_ (unit . [(identifier) @name (func . (identifier) @name)]) @definition.constant))
  (#eq? @keyword "enum") (#match? @name "^[A-Z]"))

; void run() { ... }, List<String> names() { ... }, int[] sizes() { ... }, void run()
((command (unit (identifier) @type .) . (block . (unit . (func . (identifier) @name) .))) @definition.function (#match? @type "^(def|void|boolean|byte|char|short|int|long|float|double|static|final|private|public|protected|synchronized|abstract|[A-Z][A-Za-z0-9_]*)$"))
((end_command (unit (identifier) @type .) . (block . (unit . (func . (identifier) @name) .))) @definition.function (#match? @type "^(def|void|boolean|byte|char|short|int|long|float|double|static|final|private|public|protected|synchronized|abstract|[A-Z][A-Za-z0-9_]*)$"))
((command (unit (generics_class)) . (block . (unit . (func . (identifier) @name) .))) @definition.function)
((end_command (unit (generics_class)) . (block . (unit . (func . (identifier) @name) .))) @definition.function)
((command (unit (identifier) @type .) . (list) . (block . (unit . (func . (identifier) @name) .))) @definition.function (#match? @type "^(def|void|boolean|byte|char|short|int|long|float|double|static|final|private|public|protected|synchronized|abstract|[A-Z][A-Za-z0-9_]*)$"))
((end_command (unit (identifier) @type .) . (list) . (block . (unit . (func . (identifier) @name) .))) @definition.function (#match? @type "^(def|void|boolean|byte|char|short|int|long|float|double|static|final|private|public|protected|synchronized|abstract|[A-Z][A-Za-z0-9_]*)$"))
((command (unit (identifier) @type .) . (unit . (func . (identifier) @name) .)) @definition.function (#match? @type "^(def|void|boolean|byte|char|short|int|long|float|double|static|final|private|public|protected|synchronized|abstract|[A-Z][A-Za-z0-9_]*)$"))
((end_command (unit (identifier) @type .) . (unit . (func . (identifier) @name) .)) @definition.function (#match? @type "^(def|void|boolean|byte|char|short|int|long|float|double|static|final|private|public|protected|synchronized|abstract|[A-Z][A-Za-z0-9_]*)$"))
((command (unit (generics_class)) . (unit . (func . (identifier) @name) .)) @definition.function)
((end_command (unit (generics_class)) . (unit . (func . (identifier) @name) .)) @definition.function)
((command (unit (identifier) @type .) . (list) . (unit . (func . (identifier) @name) .)) @definition.function (#match? @type "^(def|void|boolean|byte|char|short|int|long|float|double|static|final|private|public|protected|synchronized|abstract|[A-Z][A-Za-z0-9_]*)$"))
((end_command (unit (identifier) @type .) . (list) . (unit . (func . (identifier) @name) .)) @definition.function (#match? @type "^(def|void|boolean|byte|char|short|int|long|float|double|static|final|private|public|protected|synchronized|abstract|[A-Z][A-Za-z0-9_]*)$"))

; def "a feature of Spock"() { ... }
((command (unit . (identifier) @keyword .) . (block . (string) @name)) @definition.function
  (#match? @keyword "^(def|void)$"))
((end_command (unit . (identifier) @keyword .) . (block . (string) @name)) @definition.function
  (#match? @keyword "^(def|void)$"))
; Sample(int port) { ... }; a method called like its class is a constructor, the code says.
(command
  (unit . (identifier) @keyword .)
  (block [
    (command . (block . (unit . (func . (identifier) @name) .)))
    (end_command . (block . (unit . (func . (identifier) @name) .)))
  ] @definition.method)
  (#match? @keyword "^(class|enum)$") (#match? @name "^[A-Z]"))
; Gradle's task name(type: Copy) { ... }
(command
  (unit . (identifier) @keyword .) . (block . (unit . [(identifier) @name (func . (identifier) @name)] .))
  (#eq? @keyword "task")) @definition.function

; Members of a type, and what stands at the top: a type and a name, then the end of the line, a comma or a value, which
; takes its `=` into its block when it is a closure.
(command
  (unit . (identifier) @keyword .)
  (block [
    (command (unit (identifier) @type .) . (unit . (identifier) @name .) .)
    (command (unit (identifier) @type .) . (unit . (identifier) @name .) . (operators))
    (command (unit (identifier) @type .) . (unit . (identifier) @name .) . [(arg_spliter) (line_comment) (block_comment)])
    (command (unit (identifier) @type .) . (unit . (identifier) @name .) . (block . (operators)))
    (end_command (unit (identifier) @type .) . (unit . (identifier) @name .) .)
    (end_command (unit (identifier) @type .) . (unit . (identifier) @name .) . (operators))
    (end_command (unit (identifier) @type .) . (unit . (identifier) @name .) . [(arg_spliter) (line_comment) (block_comment)])
    (end_command (unit (identifier) @type .) . (unit . (identifier) @name .) . (block . (operators)))
  ] @definition.field)
  (#match? @keyword "^(class|trait|interface|enum)$")
  (#match? @type "^(def|void|boolean|byte|char|short|int|long|float|double|static|final|private|public|protected|[A-Z][A-Za-z0-9_]*)$"))
(source_file [
    (command (unit (identifier) @type .) . (unit . (identifier) @name .) .)
    (command (unit (identifier) @type .) . (unit . (identifier) @name .) . (operators))
    (command (unit (identifier) @type .) . (unit . (identifier) @name .) . [(arg_spliter) (line_comment) (block_comment)])
    (command (unit (identifier) @type .) . (unit . (identifier) @name .) . (block . (operators)))
  ] @definition.variable
  (#match? @type "^(def|void|boolean|byte|char|short|int|long|float|double|static|final|private|public|protected|[A-Z][A-Za-z0-9_]*)$"))
(command
  (unit . (identifier) @keyword .)
  (block [
    (command (unit (generics_class)) . (unit . (identifier) @name .) .)
    (command (unit (generics_class)) . (unit . (identifier) @name .) . (operators))
    (command (unit (generics_class)) . (unit . (identifier) @name .) . [(arg_spliter) (line_comment) (block_comment)])
    (command (unit (generics_class)) . (unit . (identifier) @name .) . (block . (operators)))
    (end_command (unit (generics_class)) . (unit . (identifier) @name .) .)
    (end_command (unit (generics_class)) . (unit . (identifier) @name .) . (operators))
    (end_command (unit (generics_class)) . (unit . (identifier) @name .) . [(arg_spliter) (line_comment) (block_comment)])
    (end_command (unit (generics_class)) . (unit . (identifier) @name .) . (block . (operators)))
  ] @definition.field)
  (#match? @keyword "^(class|trait|interface|enum)$"))
(source_file [
    (command (unit (generics_class)) . (unit . (identifier) @name .) .)
    (command (unit (generics_class)) . (unit . (identifier) @name .) . (operators))
    (command (unit (generics_class)) . (unit . (identifier) @name .) . [(arg_spliter) (line_comment) (block_comment)])
    (command (unit (generics_class)) . (unit . (identifier) @name .) . (block . (operators)))
  ] @definition.variable)
(command
  (unit . (identifier) @keyword .)
  (block [
    (command (unit (identifier) @type .) . (list) . (unit . (identifier) @name .) .)
    (command (unit (identifier) @type .) . (list) . (unit . (identifier) @name .) . (operators))
    (command (unit (identifier) @type .) . (list) . (unit . (identifier) @name .) . [(arg_spliter) (line_comment) (block_comment)])
    (command (unit (identifier) @type .) . (list) . (unit . (identifier) @name .) . (block . (operators)))
    (end_command (unit (identifier) @type .) . (list) . (unit . (identifier) @name .) .)
    (end_command (unit (identifier) @type .) . (list) . (unit . (identifier) @name .) . (operators))
    (end_command (unit (identifier) @type .) . (list) . (unit . (identifier) @name .) . [(arg_spliter) (line_comment) (block_comment)])
    (end_command (unit (identifier) @type .) . (list) . (unit . (identifier) @name .) . (block . (operators)))
  ] @definition.field)
  (#match? @keyword "^(class|trait|interface|enum)$")
  (#match? @type "^(def|void|boolean|byte|char|short|int|long|float|double|static|final|private|public|protected|[A-Z][A-Za-z0-9_]*)$"))
(source_file [
    (command (unit (identifier) @type .) . (list) . (unit . (identifier) @name .) .)
    (command (unit (identifier) @type .) . (list) . (unit . (identifier) @name .) . (operators))
    (command (unit (identifier) @type .) . (list) . (unit . (identifier) @name .) . [(arg_spliter) (line_comment) (block_comment)])
    (command (unit (identifier) @type .) . (list) . (unit . (identifier) @name .) . (block . (operators)))
  ] @definition.variable
  (#match? @type "^(def|void|boolean|byte|char|short|int|long|float|double|static|final|private|public|protected|[A-Z][A-Za-z0-9_]*)$"))

(decorate) @attribute
