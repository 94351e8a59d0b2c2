(comment) @comment
(multiline_comment) @comment

(class_declaration declaration_kind: "extension" name: (_) @name) @scope.class
(class_declaration declaration_kind: "enum" name: (_) @name) @definition.enum
(class_declaration name: (_) @name) @definition.class
(protocol_declaration name: (_) @name) @definition.interface
(typealias_declaration . name: (_) @name) @definition.type
(typealias_declaration (modifiers) . name: (_) @name) @definition.type
(associatedtype_declaration . name: (_) @name) @definition.type
; its name is the field of that name: to say so here makes the query slow to compile
(function_declaration) @definition.function
(init_declaration name: "init" @name) @definition.method
(protocol_function_declaration name: (simple_identifier) @name) @definition.method
(protocol_property_declaration name: (pattern bound_identifier: (_) @name)) @definition.property
(source_file (property_declaration name: (pattern bound_identifier: (_) @name)) @definition.variable)
(class_body (property_declaration name: (pattern bound_identifier: (_) @name)) @definition.property)
(enum_class_body (property_declaration name: (pattern bound_identifier: (_) @name)) @definition.property)
(enum_entry name: (_) @name) @definition.property
