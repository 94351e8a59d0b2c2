(comment) @comment

; Definitions, not prototypes: a declaration without a body says where to look, not what is there.
(function_definition
  declarator: [
    (function_declarator declarator: (_) @name)
    (pointer_declarator declarator: (function_declarator declarator: (_) @name))
    (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)))]) @definition.function
(preproc_function_def name: (_) @name) @definition.function
; An include guard: its #ifndef contains more than the macro.
((preproc_ifdef "#ifndef" name: (_) @_guard . (comment)* . (preproc_def name: (_) @name !value) . (_)) @ignored
  (#eq? @name @_guard))
(preproc_def name: (_) @name) @definition.variable

(type_definition type: (struct_specifier body: (_) @body) declarator: (type_identifier) @name) @definition.class
(type_definition type: (union_specifier body: (_) @body) declarator: (type_identifier) @name) @definition.class
(type_definition type: (enum_specifier body: (_) @body) declarator: (type_identifier) @name) @definition.enum
(type_definition
  declarator: [
    (type_identifier) @name
    (primitive_type) @name
    (pointer_declarator declarator: (type_identifier) @name)
    (array_declarator declarator: (type_identifier) @name)
    (function_declarator declarator: (type_identifier) @name)
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))
    (pointer_declarator declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name))))]) @definition.type
(struct_specifier name: (_) @name body: (_)) @definition.class
(union_specifier name: (_) @name body: (_)) @definition.class
(enum_specifier name: (_) @name body: (_)) @definition.enum
(enumerator name: (_) @name) @definition.variable

; extern int x; says that x is elsewhere
; first in its declaration: anywhere in it, each of thousands would begin a match that waits
((declaration . (storage_class_specifier) @_storage declarator: (identifier) @name) @ignored
  (#eq? @_storage "extern"))
(translation_unit
  (declaration
    declarator: [
      (identifier) @name
      (pointer_declarator declarator: (identifier) @name)
      (array_declarator declarator: (identifier) @name)
      (init_declarator declarator: (identifier) @name "=")
      (init_declarator declarator: (pointer_declarator declarator: (identifier) @name) "=")
      (init_declarator declarator: (array_declarator declarator: (identifier) @name) "=")
      (init_declarator declarator: (pointer_declarator declarator: (array_declarator declarator: (identifier) @name)) "=")]) @definition.variable)
(preproc_ifdef
  (declaration
    declarator: [
      (identifier) @name
      (pointer_declarator declarator: (identifier) @name)
      (array_declarator declarator: (identifier) @name)
      (init_declarator declarator: (identifier) @name "=")
      (init_declarator declarator: (pointer_declarator declarator: (identifier) @name) "=")
      (init_declarator declarator: (array_declarator declarator: (identifier) @name) "=")
      (init_declarator declarator: (pointer_declarator declarator: (array_declarator declarator: (identifier) @name)) "=")]) @definition.variable)
(declaration_list
  (declaration
    declarator: [
      (identifier) @name
      (pointer_declarator declarator: (identifier) @name)
      (array_declarator declarator: (identifier) @name)
      (init_declarator declarator: (identifier) @name "=")
      (init_declarator declarator: (pointer_declarator declarator: (identifier) @name) "=")
      (init_declarator declarator: (array_declarator declarator: (identifier) @name) "=")
      (init_declarator declarator: (pointer_declarator declarator: (array_declarator declarator: (identifier) @name)) "=")]) @definition.variable)
