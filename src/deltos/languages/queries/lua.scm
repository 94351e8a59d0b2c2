(comment) @comment

(function_declaration name: (method_index_expression) @name) @definition.method
(function_declaration name: (_) @name) @definition.function
(assignment_statement
  (variable_list . name: [(identifier) (dot_index_expression)] @name)
  (expression_list . value: (function_definition body: (_)? @body))) @definition.function
(field name: (identifier) @name value: (function_definition body: (_)? @body)) @definition.function
(chunk
  (variable_declaration
    (assignment_statement
      (variable_list . name: (identifier) @name)
      (expression_list . value: (function_call name: (identifier) @_require)))) @ignored
  (#eq? @_require "require"))
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name))) @definition.variable)
(chunk (assignment_statement (variable_list name: [(identifier) (dot_index_expression)] @name)) @definition.variable)
