(line_comment) @comment
(block_comment) @comment

(class_declaration name: (_) @name) @definition.class
(record_declaration name: (_) @name) @definition.class
(record_declaration parameters: (formal_parameters (formal_parameter name: (_) @name) @definition.property))
(interface_declaration name: (_) @name) @definition.interface
(annotation_type_declaration name: (_) @name) @definition.interface
(enum_declaration name: (_) @name) @definition.enum
(method_declaration name: (_) @name) @definition.method
(annotation_type_element_declaration name: (_) @name) @definition.method
(constructor_declaration name: (_) @name) @definition.method
(compact_constructor_declaration name: (_) @name) @definition.method
(field_declaration declarator: (variable_declarator name: (_) @name)) @definition.property
(constant_declaration declarator: (variable_declarator name: (_) @name)) @definition.property
(enum_constant name: (_) @name) @definition.property
