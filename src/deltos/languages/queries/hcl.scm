(comment) @comment

(config_file
  (body
    (block
      . (identifier)
      . (string_lit (template_literal) @container)
      . (string_lit (template_literal) @name)) @definition.variable))
(config_file
  (body
    (block
      . (identifier)
      . (string_lit (template_literal) @name)
      . (block_start)) @definition.variable))
(config_file (body (block . (identifier) @name . (block_start)) @definition.section))
(config_file (body (attribute . (identifier) @name) @definition.property))
