(SuffixExpr variable_type_function: (IDENTIFIER) @call . (FnCallArguments))
(FieldOrFnCall function_call: (IDENTIFIER) @call)
(ParamType (ErrorUnionExpr (SuffixExpr variable_type_function: (IDENTIFIER) @type)))
(FnProto (ErrorUnionExpr (SuffixExpr variable_type_function: (IDENTIFIER) @type)))
(ContainerField field_member: (_) (ErrorUnionExpr (SuffixExpr variable_type_function: (IDENTIFIER) @type)))
(FieldOrFnCall field_access: (IDENTIFIER) @use)
(FnCallArguments (ErrorUnionExpr (SuffixExpr . variable_type_function: (IDENTIFIER) @use .)))
(VarDecl
  (ErrorUnionExpr (SuffixExpr . (BUILTINIDENTIFIER) @_keyword))
  (#eq? @_keyword "@import")) @import
