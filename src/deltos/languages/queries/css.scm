(comment) @comment

((declaration (property_name) @name) @definition.variable
  (#match? @name "^--"))
(keyframes_statement (keyframes_name) @name) @definition.function
