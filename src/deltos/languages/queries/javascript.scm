; Read before ecmascript.scm: the earliest pattern that claims a name wins.
; const path = require("path") imports a name and defines none
(program
  [(lexical_declaration (variable_declarator name: (identifier) @name value: (call_expression function: (identifier) @_require)))
   (variable_declaration (variable_declarator name: (identifier) @name value: (call_expression function: (identifier) @_require)))
   (lexical_declaration
     (variable_declarator
       name: (identifier) @name
       value: (member_expression object: (call_expression function: (identifier) @_require))))
   (variable_declaration
     (variable_declarator
       name: (identifier) @name
       value: (member_expression object: (call_expression function: (identifier) @_require))))] @ignored
  (#eq? @_require "require"))

(field_definition
  property: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method
(field_definition property: [(property_identifier) (private_property_identifier)] @name) @definition.property

; What a CommonJS module exports
((assignment_expression left: (member_expression) @_exports right: (function_expression name: (_) @name body: (_) @body)) @definition.function
  (#eq? @_exports "module.exports"))
(program
  (expression_statement
    (assignment_expression
      left: (member_expression object: (_) @_exports property: (property_identifier) @name)) @definition.variable)
  (#any-of? @_exports "exports" "module.exports"))
