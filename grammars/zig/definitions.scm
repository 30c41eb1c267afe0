; Zig. A type is a constant whose value is a container; an anonymous container (`return struct { ... }`) lends no name,
; but what it holds are members. `const x = @import("x")` is an import.

(VarDecl
  variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr . (BUILTINIDENTIFIER) @keyword))
  (#eq? @keyword "@import")) @ignore

(VarDecl
  variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr . (ContainerDecl (ContainerDeclType . "struct"))))) @definition.struct
(VarDecl
  variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr . (ContainerDecl (ContainerDeclType . "opaque"))))) @definition.struct
(VarDecl
  variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr . (ContainerDecl (ContainerDeclType . "union"))))) @definition.union
(VarDecl
  variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr . (ContainerDecl (ContainerDeclType . "enum"))))) @definition.enum
(VarDecl
  variable_type_function: (IDENTIFIER) @name
  [
    (ErrorUnionExpr (SuffixExpr . (ErrorSetDecl)))
    (BinaryExpr (ErrorUnionExpr (SuffixExpr . (ErrorSetDecl))))
  ]) @definition.enum
(ErrorSetDecl field_constant: (IDENTIFIER) @name @definition.constant)

(ContainerField (doc_comment)? @doc field_member: (IDENTIFIER) @name) @definition.field
(ContainerDecl
  (ContainerDeclType . "union")
  (ContainerField . (doc_comment)? @doc . (ErrorUnionExpr . (SuffixExpr . variable_type_function: (IDENTIFIER) @name))) @definition.field)
(ContainerDecl
  (ContainerDeclType . "enum")
  (ContainerField . (doc_comment)? @doc . (ErrorUnionExpr . (SuffixExpr . variable_type_function: (IDENTIFIER) @name))) @definition.constant
  (#not-eq? @name "_"))

(Decl (FnProto function: (IDENTIFIER) @name) (Block)? @body) @definition.function
(TestDecl (STRINGLITERALSINGLE) @name (Block) @body) @definition.function
(TestDecl (IDENTIFIER) (Block)) @local

(VarDecl "const" variable_type_function: (IDENTIFIER) @name) @definition.constant
(VarDecl "var" variable_type_function: (IDENTIFIER) @name) @definition.variable

(ContainerField
  field_member: (IDENTIFIER) @name (ErrorUnionExpr (SuffixExpr (ContainerDecl)))) @container
(ContainerDecl) @container
(Block) @local
(ContainerField (doc_comment) @attribute)
