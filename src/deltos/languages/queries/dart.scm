(comment) @comment
(documentation_comment) @comment
(annotation) @decorator

(class_definition name: (_) @name) @definition.class
(mixin_declaration (mixin) . (identifier) @name) @definition.class
(extension_declaration name: (_) @name) @definition.class
(enum_declaration name: (_) @name) @definition.enum
(enum_constant name: (_) @name) @definition.property
(type_alias . (type_identifier) @name) @definition.type

; a body stands beside its signature, not inside it
((method_signature [
  (function_signature name: (_) @name)
  (getter_signature name: (_) @name)
  (setter_signature name: (_) @name)
  (constructor_signature . name: (identifier) @name)
  (factory_constructor_signature (identifier) @name)]) @definition.method . (function_body) @body)
((function_signature name: (_) @name) @definition.function . (function_body) @body)
(declaration [
  (function_signature name: (_) @name)
  (getter_signature name: (_) @name)
  (constructor_signature . name: (identifier) @name)
  (constant_constructor_signature (identifier) @name)]) @definition.method
(declaration [
  (initialized_identifier_list (initialized_identifier . (identifier) @name))
  (static_final_declaration_list (static_final_declaration . (identifier) @name))]) @definition.property
(program [
  (initialized_identifier_list (initialized_identifier . (identifier) @name))
  (static_final_declaration_list (static_final_declaration . (identifier) @name))] @definition.variable)
