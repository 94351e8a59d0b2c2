(document (comment) @comment)
(document (pair . (_) @name) @definition.property)
(document (table . (_) @name) @definition.section)
(document (table_array_element . (_) @name) @definition.section)
