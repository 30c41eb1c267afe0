; Thrift. The name of an enum, and of a service with a base, is the first of several identifiers.

(const_definition (identifier) @name) @definition.constant
(typedef_definition (typedef_identifier) @name) @definition.type
(struct_definition . (identifier) @name) @definition.struct
(exception_definition . (identifier) @name) @definition.struct
(union_definition . (identifier) @name) @definition.union
(enum_definition . (identifier) @name) @definition.enum
(enum_definition (identifier) @name @definition.constant)
(service_definition . (identifier) @name) @definition.service
(function_definition (identifier) @name) @definition.method
(field (identifier) @name) @definition.field
