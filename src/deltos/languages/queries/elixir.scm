(comment) @comment
((unary_operator operator: "@" operand: (call target: (identifier) @_attribute (arguments (string)))) @comment
  (#any-of? @_attribute "doc" "typedoc"))
((unary_operator operator: "@" operand: (call target: (identifier) @_attribute)) @decorator
  (#any-of? @_attribute "spec" "impl" "deprecated" "since" "doc" "dialyzer"))

((call target: (identifier) @_keyword (arguments . (alias) @name) (do_block) @body) @definition.module
  (#any-of? @_keyword "defmodule" "defimpl"))
((call target: (identifier) @_keyword (arguments . (alias) @name) (do_block) @body) @definition.interface
  (#eq? @_keyword "defprotocol"))
((call
  target: (identifier) @_keyword
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: (call target: (identifier) @name) operator: "when")
    (binary_operator left: (identifier) @name operator: "when")])) @definition.function
  (#any-of? @_keyword
    "def" "defp" "defmacro" "defmacrop" "defdelegate" "defguard" "defguardp" "defn" "defnp"))
((unary_operator
  operator: "@"
  operand: (call
    target: (identifier) @_keyword
    (arguments (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "::")))) @definition.type
  (#any-of? @_keyword "type" "typep" "opaque"))
((unary_operator
  operator: "@"
  operand: (call
    target: (identifier) @_keyword
    (arguments (binary_operator left: (call target: (identifier) @name) operator: "::")))) @definition.function
  (#any-of? @_keyword "callback" "macrocallback"))
