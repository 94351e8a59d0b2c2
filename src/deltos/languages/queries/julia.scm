(line_comment) @comment
(block_comment) @comment
(source_file (string_literal) @comment)
(module_definition (string_literal) @comment)

(module_definition name: (_) @name) @definition.module
(struct_definition (type_head [
  (identifier) @name
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . (identifier) @name)
  (binary_expression . (parametrized_type_expression . (identifier) @name))])) @definition.class
(abstract_definition (type_head [(identifier) @name (binary_expression . (identifier) @name)])) @definition.interface
([(function_definition (signature [
    (call_expression . [(identifier) (field_expression)] @name)
    (typed_expression . (call_expression . [(identifier) (field_expression)] @name))
    (where_expression . (call_expression . [(identifier) (field_expression)] @name))]) . (_)? @body)
  (macro_definition (signature (call_expression . (identifier) @name)) . (_)? @body)
  (assignment . (call_expression . [(identifier) (field_expression)] @name))
  (assignment . (where_expression . (call_expression . [(identifier) (field_expression)] @name)))] @definition.function)
(source_file [(const_statement (assignment . (identifier) @name)) (assignment . (identifier) @name)] @definition.variable)
(module_definition [(const_statement (assignment . (identifier) @name)) (assignment . (identifier) @name)] @definition.variable)
