(comment) @comment

(module name: (_) @name) @definition.module
(class name: (_) @name) @definition.class
(method name: (_) @name) @definition.method
(singleton_method name: (_) @name) @definition.method
(program (assignment left: (constant) @name) @definition.variable)
(body_statement (assignment left: (constant) @name) @definition.property)
((call
  method: (identifier) @_accessor
  arguments: (argument_list (simple_symbol) @name)) @definition.property
  (#any-of? @_accessor "attr_reader" "attr_writer" "attr_accessor" "cattr_accessor" "mattr_accessor" "class_attribute"))
((call
  method: (identifier) @_define
  arguments: (argument_list . (simple_symbol) @name)
  block: (_) @body) @definition.method
  (#any-of? @_define "define_method" "define_singleton_method"))
