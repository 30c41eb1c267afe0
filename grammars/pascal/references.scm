(exprCall entity: [(identifier) @call (exprDot rhs: (identifier) @call)])
(statement (identifier) @call)
(statement (exprDot rhs: (identifier) @call))

(declClass parent: (typeref (identifier) @inherit))
(typeref (identifier) @type)

(declUses) @import
