(comment) @comment
(haddock) @comment
(pragma) @decorator

(declarations [(signature name: (_) @name) (function name: (_) @name) (bind name: (_) @name)] @definition.function)
(declarations (signature names: (binding_list name: (_) @name)) @definition.function)
(declarations (function (infix operator: (_) @name)) @definition.function)
(class_declarations [(signature name: (_) @name) (function name: (_) @name) (bind name: (_) @name)] @definition.method)
(instance_declarations [(signature name: (_) @name) (function name: (_) @name) (bind name: (_) @name)] @definition.method)
(data_type name: (_) @name) @definition.class
(newtype name: (_) @name) @definition.class
(type_synonym name: (_) @name) @definition.type
(type_family name: (_) @name) @definition.type
(class name: (_) @name) @definition.interface
(instance patterns: (_) @name) @scope.class
(field name: (field_name (variable) @name) type: (_)) @definition.property
