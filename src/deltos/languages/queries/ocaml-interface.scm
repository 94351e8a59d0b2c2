; What implementations and interfaces share.
(comment) @comment
(attribute) @decorator

(module_definition (module_binding . (module_name) @name)) @definition.module
(module_type_definition . (module_type_name) @name) @definition.interface
(type_definition (type_binding name: (_) @name) @definition.type)
(class_definition (class_binding (class_name) @name) @definition.class)
(method_definition (method_name) @name) @definition.method
(exception_definition (constructor_declaration . (constructor_name) @name)) @definition.class
(external (value_name) @name) @definition.function
(value_specification (value_name) @name) @definition.function
