(comment) @comment

(function_declaration name: (_) @name) @definition.function
(method_declaration
  receiver: (parameter_list
    (parameter_declaration
      type: [
        (type_identifier) @container
        (pointer_type (type_identifier) @container)
        (generic_type type: (_) @container)
        (pointer_type (generic_type type: (_) @container))]))
  name: (_) @name) @definition.method
(type_spec name: (_) @name type: (interface_type)) @definition.interface
(type_spec type: (struct_type (field_declaration_list (field_declaration name: (_) @name) @definition.property)))
(type_spec name: (_) @name type: (struct_type)) @definition.class
(type_spec name: (_) @name) @definition.type
(type_alias name: (_) @name) @definition.type
(method_elem name: (_) @name) @definition.method
(source_file (const_declaration (const_spec name: (_) @name) @definition.variable))
(source_file (var_declaration (var_spec name: (_) @name) @definition.variable))
(source_file (var_declaration (var_spec_list (var_spec name: (_) @name) @definition.variable)))
