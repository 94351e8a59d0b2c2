(comment) @comment

(function_declaration name: (_) @name) @definition.function
(variable_declaration . (identifier) @name !type [(struct_declaration) (union_declaration) (opaque_declaration)]) @definition.class
(variable_declaration . (identifier) @name !type [(enum_declaration) (error_set_declaration)]) @definition.enum
((source_file (variable_declaration . (identifier) @name (builtin_function (builtin_identifier) @_import)) @ignored)
  (#eq? @_import "@import"))
((struct_declaration (variable_declaration . (identifier) @name (builtin_function (builtin_identifier) @_import)) @ignored)
  (#eq? @_import "@import"))
(source_file (variable_declaration . (identifier) @name) @definition.variable)
(struct_declaration (variable_declaration . (identifier) @name) @definition.property)
