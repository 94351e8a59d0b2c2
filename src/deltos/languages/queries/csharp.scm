(comment) @comment

(namespace_declaration name: (_) @name) @scope.namespace
(class_declaration name: (_) @name) @definition.class
(struct_declaration name: (_) @name) @definition.class
(record_declaration name: (_) @name) @definition.class
(record_declaration (parameter_list (parameter name: (_) @name) @definition.property))
(interface_declaration name: (_) @name) @definition.interface
(enum_declaration name: (_) @name) @definition.enum
(delegate_declaration name: (_) @name) @definition.type
(method_declaration name: (_) @name) @definition.method
(constructor_declaration name: (_) @name) @definition.method
(local_function_statement name: (_) @name) @definition.function
(property_declaration name: (_) @name) @definition.property
(event_declaration name: (_) @name) @definition.property
(field_declaration (variable_declaration (variable_declarator name: (_) @name))) @definition.property
(event_field_declaration (variable_declaration (variable_declarator name: (_) @name))) @definition.property
(enum_member_declaration name: (_) @name) @definition.property
