; What JavaScript and TypeScript share. The earliest pattern that claims a name wins.
(comment) @comment
(decorator) @decorator

(class_declaration name: (_) @name) @definition.class
(function_declaration name: (_) @name) @definition.function
(generator_function_declaration name: (_) @name) @definition.function
(method_definition name: [(property_identifier) (private_property_identifier) (string)] @name) @definition.method

; const f = () => {}, in any scope
(lexical_declaration
  (variable_declarator
    name: (identifier) @name
    value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)])) @definition.function
(variable_declaration
  (variable_declarator
    name: (identifier) @name
    value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)])) @definition.function
(lexical_declaration (variable_declarator name: (identifier) @name value: (class body: (_) @body))) @definition.class
(variable_declaration (variable_declarator name: (identifier) @name value: (class body: (_) @body))) @definition.class

; res.redirect = function () {}
(assignment_expression
  left: (member_expression
    object: [(identifier) (member_expression) (this)] @container
    property: [(property_identifier) (private_property_identifier)] @name)
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition.function
(assignment_expression left: (member_expression) right: (class name: (_) @name body: (_) @body)) @definition.class
; { f: function () {} }
(pair
  key: [(property_identifier) (string)] @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method

(program
  [(lexical_declaration (variable_declarator name: (identifier) @name)) @definition.variable
   (variable_declaration (variable_declarator name: (identifier) @name)) @definition.variable
   (export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @definition.variable)
   (export_statement (variable_declaration (variable_declarator name: (identifier) @name)) @definition.variable)])
