; Read before c.scm.
(template_declaration parameters: (_) @decorator)
(namespace_definition name: (_) @name) @scope.namespace
(class_specifier name: (_) @name body: (_)) @definition.class
(function_definition
  declarator: [
    (function_declarator declarator: (qualified_identifier) @name)
    (pointer_declarator declarator: (function_declarator declarator: (qualified_identifier) @name))
    (reference_declarator (function_declarator declarator: (qualified_identifier) @name))]) @definition.method
(function_definition
  declarator: [
    (reference_declarator (function_declarator declarator: (_) @name))
    (operator_cast) @name]) @definition.function
; A pure virtual method has no body anywhere: its declaration is what there is of it.
(field_declaration
  declarator: [
    (function_declarator declarator: (field_identifier) @name)
    (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name))
    (reference_declarator (function_declarator declarator: (field_identifier) @name))]
  default_value: (number_literal)) @definition.method
(alias_declaration name: (_) @name) @definition.type
(concept_definition name: (_) @name) @definition.type
