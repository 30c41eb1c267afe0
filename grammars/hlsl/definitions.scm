; HLSL, beyond what it shares with C and C++. `cbuffer Name : register(b0) { ... }` is read as a declaration and a block.

(declaration
  type: (type_identifier) @keyword
  declarator: (identifier) @name
  (#match? @keyword "^(cbuffer|tbuffer)$")) @definition.struct
(declaration declarator: (semantics) @declarator) @ignore
