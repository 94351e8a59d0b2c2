(comment) @comment

(contract_declaration name: (_) @name) @definition.class
(library_declaration name: (_) @name) @definition.class
(struct_declaration name: (_) @name) @definition.class
(interface_declaration name: (_) @name) @definition.interface
(enum_declaration name: (_) @name) @definition.enum
(event_definition name: (_) @name) @definition.type
(error_declaration name: (_) @name) @definition.type
(function_definition name: (_) @name) @definition.function
(modifier_definition name: (_) @name) @definition.function
(state_variable_declaration name: (_) @name) @definition.property
(constant_variable_declaration name: (_) @name) @definition.variable
