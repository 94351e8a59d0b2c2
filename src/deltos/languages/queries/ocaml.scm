; Read with ocaml-interface.scm.
([(compilation_unit (value_definition (let_binding pattern: (value_name) @name (parameter)) @definition.function))
  (structure (value_definition (let_binding pattern: (value_name) @name (parameter)) @definition.function))])
([(compilation_unit (value_definition (let_binding pattern: (value_name) @name) @definition.variable))
  (structure (value_definition (let_binding pattern: (value_name) @name) @definition.variable))])
