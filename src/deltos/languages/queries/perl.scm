(comment) @comment
(pod) @comment

(package_statement name: (_) @name (block)) @definition.module
(package_statement name: (_) @name) @clause.module
(subroutine_declaration_statement name: (_) @name) @definition.function
(method_declaration_statement name: (_) @name) @definition.method
(source_file
  (expression_statement
    (assignment_expression
      left: (variable_declaration variable: (_ (varname) @name))) @definition.variable))
