(comment) @comment
(marginalia) @comment

(create_table (object_reference) @name) @definition.class
(create_view (object_reference) @name) @definition.class
(create_materialized_view (object_reference) @name) @definition.class
(create_type (object_reference) @name) @definition.type
(create_function . (keyword_create) (object_reference) @name) @definition.function
(create_trigger . (keyword_create) (keyword_trigger) . (object_reference) @name) @definition.function
