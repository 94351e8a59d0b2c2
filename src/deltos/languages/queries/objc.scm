; Read before c.scm.
(class_interface . (identifier) @name) @definition.class
(class_implementation . (identifier) @name) @scope.class
(protocol_declaration . (identifier) @name) @definition.interface
(method_definition (method_type) . (identifier) @name (compound_statement) @body) @definition.method
(protocol_declaration (method_declaration (method_type) . (identifier) @name) @definition.method)
(class_interface (method_declaration (method_type) . (identifier) @name) @definition.method)
(property_declaration
  (struct_declaration
    (struct_declarator [(identifier) @name (pointer_declarator declarator: (identifier) @name)]))) @definition.property
