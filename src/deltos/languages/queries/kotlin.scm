(line_comment) @comment
(block_comment) @comment

(class_declaration "interface" name: (_) @name) @definition.interface
((class_declaration (modifiers (class_modifier) @_modifier) name: (_) @name) @definition.enum
  (#eq? @_modifier "enum"))
(class_declaration name: (_) @name) @definition.class
; an annotation class without a body is parsed as an expression
((infix_expression . (identifier) @_modifier . (identifier) @_keyword . (identifier) @name) @definition.class
  (#eq? @_modifier "annotation") (#eq? @_keyword "class"))
(object_declaration name: (_) @name) @definition.class
(companion_object name: (_) @name) @definition.class
(type_alias type: (_) @name) @definition.type
(function_declaration (user_type (identifier) @container) . name: (_) @name) @definition.function
(function_declaration name: (_) @name) @definition.function
(source_file (property_declaration (variable_declaration . (identifier) @name)) @definition.variable)
(class_parameter ["val" "var"] . (identifier) @name) @definition.property
(class_body (property_declaration (variable_declaration . (identifier) @name)) @definition.property)
(enum_class_body (property_declaration (variable_declaration . (identifier) @name)) @definition.property)
(enum_entry . (identifier) @name) @definition.property
