(abstract_class_declaration name: (_) @name) @definition.class
(interface_declaration name: (_) @name) @definition.interface
(type_alias_declaration name: (_) @name) @definition.type
(enum_declaration name: (_) @name) @definition.enum
(internal_module name: (_) @name) @definition.module
(module name: (_) @name) @definition.module
(function_signature name: (_) @name) @definition.function
(method_signature name: (property_identifier) @name) @definition.method
(abstract_method_signature name: (property_identifier) @name) @definition.method
(public_field_definition
  name: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.property
(program (ambient_declaration (lexical_declaration (variable_declarator name: (identifier) @name)) @definition.variable))
(internal_module
  body: (statement_block
    (export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @definition.variable)))
(program
  (export_statement
    (ambient_declaration
      [(lexical_declaration (variable_declarator name: (identifier) @name)) @definition.variable
       (variable_declaration (variable_declarator name: (identifier) @name)) @definition.variable])))
(program (ambient_declaration (variable_declaration (variable_declarator name: (identifier) @name)) @definition.variable))
(ambient_declaration
  [(internal_module
     body: (statement_block
       [(lexical_declaration (variable_declarator name: (identifier) @name)) @definition.variable
        (variable_declaration (variable_declarator name: (identifier) @name)) @definition.variable]))
   (module
     body: (statement_block
       [(lexical_declaration (variable_declarator name: (identifier) @name)) @definition.variable
        (export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @definition.variable)]))])
