; SQL (data definition). A table, view or composite type is a struct and its columns are fields; the schema that may
; stand before a name is left out of it. What the grammar cannot read is skipped to the next statement.

(create_table (object_reference name: (identifier) @name)) @definition.struct
(create_view (object_reference name: (identifier) @name)) @definition.struct
(create_materialized_view (object_reference name: (identifier) @name)) @definition.struct
(column_definition name: (identifier) @name) @definition.field

(create_type (object_reference name: (identifier) @name) (enum_elements)) @definition.enum
(create_type (object_reference name: (identifier) @name) (column_definitions)) @definition.struct
(create_type (object_reference name: (identifier) @name)) @definition.type
(enum_elements enum_element: (literal) @name @definition.constant)

(create_function (keyword_function) . (object_reference name: (identifier) @name) (function_body)? @body) @definition.function
(create_trigger (keyword_trigger) . (object_reference name: (identifier) @name)) @definition.function
(create_index column: (identifier) @name (keyword_on)) @definition.constant
(create_sequence (object_reference name: (identifier) @name)) @definition.variable
(create_schema (identifier) @name) @definition.namespace
