; Pascal and Delphi. A routine is listed where it is declared and where it is defined, as in C++.

(unit (moduleName) @name) @definition.module
(program (moduleName) @name) @definition.module
(library (moduleName) @name) @definition.module

(defProc header: (declProc name: (identifier) @name) body: (_) @body) @definition.function
(defProc
  header: (declProc (kConstructor) name: (genericDot lhs: (_) @scope rhs: (identifier) @name))
  body: (_) @body) @definition.constructor
(defProc
  header: (declProc name: (genericDot lhs: (_) @scope rhs: (identifier) @name))
  body: (_) @body) @definition.method
(declProc (kConstructor) name: (identifier) @name) @definition.constructor
(declProc name: (identifier) @name) @definition.function

(declType name: (identifier) @name type: (declClass (kRecord))) @definition.struct
(declType name: (identifier) @name type: (declClass)) @definition.class
(declType name: (identifier) @name type: (declIntf)) @definition.interface
(declType name: (identifier) @name type: (type (declEnum))) @definition.enum
(declType name: (identifier) @name) @definition.type
(declEnumValue name: (identifier) @name) @definition.constant
(declField name: (identifier) @name) @definition.field
(declProp name: (identifier) @name) @definition.property

(declConst name: (identifier) @name) @definition.constant
(declVar name: (identifier) @name) @definition.variable
