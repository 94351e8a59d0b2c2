(comment) @comment

(class_declaration name: (_) @name) @definition.class
(interface_declaration name: (_) @name) @definition.interface
(trait_declaration name: (_) @name) @definition.interface
(enum_declaration name: (_) @name) @definition.enum
(function_definition name: (_) @name) @definition.function
(method_declaration name: (_) @name) @definition.method
(property_declaration (property_element name: (variable_name (name) @name))) @definition.property
(property_promotion_parameter name: (variable_name (name) @name)) @definition.property
(declaration_list (const_declaration (const_element . (name) @name)) @definition.property)
(enum_declaration_list (const_declaration (const_element . (name) @name)) @definition.property)
(enum_case name: (_) @name) @definition.property
(program (const_declaration (const_element . (name) @name)) @definition.variable)
((function_call_expression
  function: (name) @_define
  arguments: (arguments . (argument (string (string_content) @name)))) @definition.variable
  (#eq? @_define "define"))
