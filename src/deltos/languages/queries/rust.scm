(line_comment) @comment
(block_comment) @comment
(attribute_item) @decorator

(struct_item name: (_) @name) @definition.class
(union_item name: (_) @name) @definition.class
(enum_item name: (_) @name) @definition.enum
(trait_item name: (_) @name) @definition.interface
(type_item name: (_) @name) @definition.type
(associated_type name: (_) @name) @definition.type
(impl_item type: (_) @name) @scope.class
(function_item name: (_) @name) @definition.function
(function_signature_item name: (_) @name) @definition.function
(macro_definition name: (_) @name . (_)? @body) @definition.function
(mod_item name: (_) @name) @definition.module
(const_item name: (_) @name) @definition.variable
(static_item name: (_) @name) @definition.variable
