(comment) @comment

((rule (targets . (word) @name) (recipe)? @body) @definition.function
  (#not-match? @name "^[.%]"))
(define_directive name: (_) @name) @definition.function
(makefile (variable_assignment name: (_) @name) @definition.variable)
