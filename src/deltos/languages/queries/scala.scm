(comment) @comment
(block_comment) @comment

(class_definition name: (_) @name) @definition.class
(object_definition name: (_) @name) @definition.class
(package_object name: (_) @name) @definition.module
(trait_definition name: (_) @name) @definition.interface
(enum_definition name: (_) @name) @definition.enum
(simple_enum_case name: (_) @name) @definition.property
(full_enum_case name: (_) @name) @definition.property
(type_definition name: (_) @name) @definition.type
(function_definition name: (_) @name) @definition.function
(function_declaration name: (_) @name) @definition.function
(given_definition name: (_) @name) @definition.variable
(compilation_unit [(val_definition pattern: (identifier) @name) (var_definition pattern: (identifier) @name)] @definition.variable)
(template_body
  [(val_definition pattern: (identifier) @name) (var_definition pattern: (identifier) @name)
   (val_declaration name: (identifier) @name) (var_declaration name: (identifier) @name)] @definition.property)
