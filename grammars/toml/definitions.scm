; TOML: tables are sections, and what stands in them are their keys. Tables inside values are values.

(table . [(bare_key) (quoted_key)] @name) @definition.section
(table . (dotted_key (_) @scope [(bare_key) (quoted_key)] @name .)) @definition.section
(table_array_element . [(bare_key) (quoted_key)] @name) @definition.section
(table_array_element . (dotted_key (_) @scope [(bare_key) (quoted_key)] @name .)) @definition.section

(document (pair . [(bare_key) (quoted_key)] @name) @definition.key)
(document (pair . (dotted_key (_) @scope [(bare_key) (quoted_key)] @name .)) @definition.key)
(table (pair . [(bare_key) (quoted_key)] @name) @definition.key)
(table (pair . (dotted_key (_) @scope [(bare_key) (quoted_key)] @name .)) @definition.key)
(table_array_element (pair . [(bare_key) (quoted_key)] @name) @definition.key)
(table_array_element (pair . (dotted_key (_) @scope [(bare_key) (quoted_key)] @name .)) @definition.key)
