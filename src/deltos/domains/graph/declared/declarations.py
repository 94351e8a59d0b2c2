"""Names that declarations bind, each with its declared type or the access path of its initial value."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.declared.facts import ELEMENT, KEY, TYPE_SIGN, UNKNOWN, UNWRAPPED
from deltos.domains.graph.declared.node_text import VARIABLES, first_child
from deltos.domains.graph.declared.phpdoc import more_specific_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import tree_sitter

    from deltos.domains.graph.declared.facts import AccessPath
    from deltos.domains.graph.declared.grammars import GrammarTable
    from deltos.domains.graph.declared.node_text import NodeText
    from deltos.domains.graph.declared.phpdoc import Documentation

_UNKNOWN_PATH: AccessPath = (UNKNOWN,)
_INFERRED = frozenset({"var", "auto", "val", "let", UNKNOWN})
_C_DECLARATORS = frozenset(
    "pointer_declarator reference_declarator array_declarator parenthesized_declarator init_declarator "
    "attributed_declarator variadic_declarator".split()
)
_TARGETS = ("name", "declarator", "pattern", "left", "alias")
_DECLARATORS = frozenset({"variable_declarator", "init_declarator", "property_element", "variable_declaration"})
_UNTYPED = frozenset({"assignment_expression", "assignment", "method_parameters", "block_parameters"})
_NOT_IN_PATTERNS = frozenset(
    "parameter_list field_expression call element_reference member_access_expression member_expression "
    "subscript_expression scoped_property_access_expression".split()
)
_PRIMITIVE = frozenset({"primitive_type", "sized_type_specifier"})
_PHP_PARAMETERS = frozenset({"simple_parameter", "variadic_parameter", "property_promotion_parameter"})
GUARDS = frozenset({"if_statement", "else_if_clause", "while_statement", "conditional_expression", "binary_expression"})
"""Node types that contain a condition and a part that it guards."""
_LEAVING = frozenset({"return_statement", "throw_expression", "continue_statement", "break_statement"})
_MAX_CONDITIONS = 32
_UNWRAPPING_PATTERNS = frozenset({"Some", "Ok"})
_FIXTURE_TEST_MACROS = frozenset({"TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P"})


class Binding(NamedTuple):
    """A bound name and the access path of its value."""

    leaf: tree_sitter.Node
    path: AccessPath


class Declarations:
    """Reader of the declarations of one file."""

    def __init__(self, written: NodeText, grammar: GrammarTable, language: str, documentation: Documentation) -> None:
        self._node_text = written
        self._documentation = documentation
        self._grammar = grammar
        self._language = language
        self._matched_values: dict[int, tree_sitter.Node] = {}
        self._switched: dict[int, tree_sitter.Node] = {}
        self._repeated: dict[int, tree_sitter.Node] = {}

    def note(self, node: tree_sitter.Node) -> None:
        """Store data of a `match` or `switch` statement for its arms.

        This avoids `node.parent`, whose cost grows with the depth of the node.
        """
        if node.type == "match_expression":
            value, body = node.child_by_field_name("value"), node.child_by_field_name("body")
            if value is not None and body is not None:
                self._matched_values.update({arm.id: value for arm in body.named_children})
        elif node.type == "const_declaration" and self._language == "go":
            spec_with_value = None
            for spec in node.named_children:
                if spec.child_by_field_name("type") or spec.child_by_field_name("value"):
                    spec_with_value = spec
                elif spec_with_value is not None:
                    self._repeated[spec.id] = spec_with_value
        elif node.type == "type_switch_statement":
            alias = node.child_by_field_name("alias")
            if alias is not None:
                self._switched.update({case.id: alias for case in node.named_children})

    def is_prototype(self, node: tree_sitter.Node) -> bool:
        """Whether a declaration of C or C++ declares a function; its parameters bind no names."""
        if self._language not in ("c", "cpp"):
            return False
        declarators = node.children_by_field_name("declarator")
        return bool(declarators) and all(
            self._declared_variable(node, declarator)[0] is None for declarator in declarators
        )

    def _declared_variable(
        self, node: tree_sitter.Node, declarator: tree_sitter.Node
    ) -> tuple[tree_sitter.Node | None, int]:
        """Return the variable that a C or C++ declarator declares and its number of array dimensions; None for a
        function."""
        if self._is_local(node) and _is_constructed(declarator):
            return _c_leaf(declarator.child_by_field_name("declarator") or declarator)
        return _c_leaf(declarator)

    def _is_local(self, node: tree_sitter.Node) -> bool:
        """Whether a C++ declaration is inside a function and declares a type that may have a constructor."""
        if self._language != "cpp" or node.type != "declaration" or not self._node_text.is_in_local_scope:
            return False
        declared = node.child_by_field_name("type")  # a class declares its constructor without one
        return declared is not None and declared.type not in _PRIMITIVE

    def fixture(self, node: tree_sitter.Node) -> str:
        """Return the fixture class of a GoogleTest test, `TEST_F(Fixture, Name) {…}`; empty for other nodes."""
        macro, parameters = self._test(node)
        if macro not in _FIXTURE_TEST_MACROS or not parameters:
            return ""
        return self._node_text.type_text(parameters[0].child_by_field_name("type"))

    def test_names(self, node: tree_sitter.Node) -> list[tree_sitter.Node]:
        """Return the nodes that name a GoogleTest test and its suite; they are not references."""
        macro, parameters = self._test(node)
        named = parameters[1:] if macro in _FIXTURE_TEST_MACROS else parameters if macro == "TEST" else []
        return [declared for each in named if (declared := each.child_by_field_name("type")) is not None]

    def _test(self, node: tree_sitter.Node) -> tuple[str, list[tree_sitter.Node]]:
        """Return the macro name and the first two arguments of a C++ function node that may be a GoogleTest macro."""
        declarator = node.child_by_field_name("declarator")
        name = declarator.child_by_field_name("declarator") if declarator is not None else None
        parameters = declarator.child_by_field_name("parameters") if declarator is not None else None
        if name is None or parameters is None:
            return "", []
        return self._node_text.text(name), parameters.named_children[:2]

    def qualified_name(self, node: tree_sitter.Node) -> tree_sitter.Node | None:
        """Return the last name of a C++ function that is defined outside its class: `run` of `void Job::run() {…}`."""
        current = node.child_by_field_name("declarator")
        while current is not None and current.type in (*_C_DECLARATORS, "function_declarator"):
            current = current.child_by_field_name("declarator") or _declarator_child(current)
        if current is None or current.type != "qualified_identifier":
            return None
        while current is not None and current.child_count:
            current = current.child_by_field_name("name") or first_child(current)
        return current

    def prototype_name(self, node: tree_sitter.Node) -> str:
        """Return the name of the function that a C++ declaration declares; empty if it has no plain name."""
        current = node.child_by_field_name("declarator")
        while current is not None and current.type in _C_DECLARATORS:
            current = current.child_by_field_name("declarator") or _declarator_child(current)
        name = current.child_by_field_name("declarator") if current is not None else None
        is_plain = name is not None and name.type in ("identifier", "field_identifier")
        return self._node_text.text(name) if name is not None and is_plain else ""

    def bindings(self, node: tree_sitter.Node) -> list[Binding]:
        """Return the names that a node binds in the enclosing scope, or in its own scope if it opens one."""
        if self._language == "go":
            return list(self._go(node))
        if self._language in ("c", "cpp"):
            return list(self._c(node))
        if self._language == "rust":
            return list(self._rust(node))
        return list(self._other_bindings(node))

    # --- conditions of PHP

    def narrowed(self, node: tree_sitter.Node) -> tuple[tree_sitter.Node | None, list[Binding], list[Binding]]:
        """Return the guarded node, the variables narrowed inside it, and the variables narrowed after the statement.

        The last list is for guards such as `if (!$x instanceof Foo) return;`.
        """
        if node.type == "binary_expression":
            left, operator = node.child_by_field_name("left"), node.child_by_field_name("operator")
            is_both = left is not None and operator is not None and operator.type in ("&&", "and")
            inside = self._instances(left, is_negated=False) if is_both else []
            return node.child_by_field_name("right"), inside, []
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        inside = self._instances(condition, is_negated=False)
        is_guard = (
            node.type == "if_statement" and node.child_by_field_name("alternative") is None and _leaves_block(body)
        )
        return body, inside, self._instances(condition, is_negated=True) if is_guard else []

    def _instances(self, condition: tree_sitter.Node | None, *, is_negated: bool) -> list[Binding]:
        """Return the variables whose class is known if a condition holds, or if it fails (`is_negated`)."""
        found: list[Binding] = []
        pending = [condition]
        for _ in range(_MAX_CONDITIONS):
            node = pending.pop() if pending else None
            if node is None:
                break
            operator = node.child_by_field_name("operator")
            sign = operator.type if operator is not None else ""
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if node.type == "parenthesized_expression":
                pending.append(first_child(node))
            elif sign in (("||", "or") if is_negated else ("&&", "and")):
                pending += [right, left]
            elif is_negated and sign == "!":
                found += self._instances(node.child_by_field_name("argument"), is_negated=False)[:1]
            elif not is_negated and sign == "instanceof" and left is not None and left.type == "variable_name":
                found.append(Binding(left, (TYPE_SIGN + self._node_text.type_text(right),)))
        return found

    # --- Go

    def _go(self, node: tree_sitter.Node) -> Iterator[Binding]:
        """Yield the bindings of a Go declaration."""
        kind = node.type
        if kind in ("parameter_declaration", "variadic_parameter_declaration", "field_declaration"):
            text = self._node_text.type_text(node.child_by_field_name("type"))
            path = (TYPE_SIGN + (f"[]<{text}>" if kind.startswith("variadic") else text),)
            yield from (Binding(name, path) for name in node.children_by_field_name("name"))
        elif kind in ("var_spec", "const_spec"):
            spec_with_value = self._repeated.get(node.id, node)  # a constant without a value repeats the previous value
            declared = spec_with_value.child_by_field_name("type")
            names = node.children_by_field_name("name")
            if declared is not None:
                path = (TYPE_SIGN + self._node_text.type_text(declared),)
                yield from (Binding(name, path) for name in names)
            else:
                yield from self._parallel(names, spec_with_value.child_by_field_name("value"))
        elif kind == "range_clause":
            value = self._node_text.path(node.child_by_field_name("right"))
            names = _expression_items(node.child_by_field_name("left"))
            yield from (Binding(name, (*value, step)) for name, step in zip(names, (KEY, ELEMENT), strict=False))
        elif kind == "type_case":
            yield from self._go_case(node)
        else:
            names = _expression_items(node.child_by_field_name("left") or node.child_by_field_name("alias"))
            yield from self._parallel(names, node.child_by_field_name("right") or node.child_by_field_name("value"))

    def _go_case(self, node: tree_sitter.Node) -> Iterator[Binding]:
        """Bind the variable of a type switch to the type of a case: `switch x := v.(type) { case *T: … }`."""
        alias = self._switched.get(node.id)
        types = node.children_by_field_name("type")
        if alias is not None and len(types) == 1:
            yield from (
                Binding(name, (TYPE_SIGN + self._node_text.type_text(types[0]),)) for name in _expression_items(alias)
            )

    def _parallel(self, names: list[tree_sitter.Node], value: tree_sitter.Node | None) -> Iterator[Binding]:
        """Bind names to values one to one, or several names to the results of one call."""
        values = _expression_items(value)
        names = [name for name in names if name.type in self._grammar.names]
        if len(values) == 1 and len(names) > 1:
            path = self._node_text.path(values[0])
            yield from (Binding(name, (*path, f"#{position}")) for position, name in enumerate(names))
            return
        for position, name in enumerate(names):
            path = self._node_text.path(values[position]) if position < len(values) else _UNKNOWN_PATH
            yield Binding(name, path)

    # --- C and C++

    def _c(self, node: tree_sitter.Node) -> Iterator[Binding]:
        """Yield the bindings of a C or C++ declaration."""
        text = self._node_text.type_text(node.child_by_field_name("type"))
        for declarator in node.children_by_field_name("declarator"):
            leaf, dimensions = self._declared_variable(node, declarator)
            if leaf is None:
                continue
            if text not in _INFERRED:
                yield Binding(leaf, (TYPE_SIGN + "[]<" * dimensions + text + ">" * dimensions,))
                continue
            value = declarator.child_by_field_name("value")
            loop = node.child_by_field_name("right") if node.type == "for_range_loop" else None
            path = (*self._node_text.path(loop), ELEMENT) if loop is not None else self._path_of_value(value)
            yield Binding(leaf, path)

    # --- Rust

    def _rust(self, node: tree_sitter.Node) -> Iterator[Binding]:
        """Yield the bindings of a Rust declaration."""
        if node.type == "closure_parameters":
            bare = [child for child in node.named_children if child.type != "parameter"]
            yield from (Binding(leaf, _UNKNOWN_PATH) for child in bare for leaf in self._pattern_names(child))
            return
        declared = node.child_by_field_name("type")
        pattern = node.child_by_field_name("pattern") or node.child_by_field_name("name")
        if pattern is None:
            return
        if declared is not None:
            yield from self._matched(pattern, (TYPE_SIGN + self._node_text.type_text(declared),))
            return
        value = node.child_by_field_name("value")
        if node.type == "match_arm":
            value = self._matched_values.get(node.id)
        path = self._path_of_value(value)
        yield from self._matched(pattern, (*path, ELEMENT) if node.type == "for_expression" else path)

    def _matched(self, pattern: tree_sitter.Node, path: AccessPath) -> Iterator[Binding]:
        """Bind the names of a Rust pattern: to the whole value, a tuple item, or the content of `Some` and `Ok`."""
        while pattern.type in ("match_pattern", "ref_pattern", "mut_pattern", "reference_pattern"):
            inner = [child for child in pattern.named_children if child.type != "mutable_specifier"]
            if not inner:
                return
            pattern = inner[0]
        if pattern.type in self._grammar.names or pattern.type == "field_identifier":
            if not self._node_text.text(pattern)[:1].isupper():
                yield Binding(pattern, path)
        elif pattern.type == "tuple_pattern":
            for position, child in enumerate(pattern.named_children):
                here = (*path, f"#{position}") if child.type in self._grammar.names else _UNKNOWN_PATH
                yield from (Binding(leaf, here) for leaf in self._pattern_names(child))
        elif pattern.type == "tuple_struct_pattern" and self._is_unwrapping(pattern):
            for child in pattern.named_children[1:]:
                is_whole = child.type in self._grammar.names or child.type in ("ref_pattern", "mut_pattern")
                held = (*path, UNWRAPPED) if is_whole else _UNKNOWN_PATH
                yield from (Binding(leaf, held) for leaf in self._pattern_names(child))
        else:
            yield from (Binding(leaf, _UNKNOWN_PATH) for leaf in self._pattern_names(pattern))

    def _is_unwrapping(self, pattern: tree_sitter.Node) -> bool:
        """Whether a pattern is `Some(…)` or `Ok(…)`."""
        name = pattern.child_by_field_name("type")
        return name is not None and self._node_text.text(name) in _UNWRAPPING_PATTERNS

    # --- other languages

    def _other_bindings(self, node: tree_sitter.Node) -> Iterator[Binding]:
        """Yield the bindings of Java, Kotlin, C#, PHP and Ruby declarations."""
        kind = node.type
        if kind in ("inferred_parameters", "lambda_parameters", "method_parameters", "block_parameters"):
            yield from (Binding(leaf, _UNKNOWN_PATH) for leaf in self._pattern_names(node))
            return
        if kind in ("lambda_expression", "implicit_parameter"):
            single = node.child_by_field_name("parameters") or (node if kind == "implicit_parameter" else None)
            if single is not None and single.type in (*self._grammar.names, "implicit_parameter"):
                yield Binding(single, _UNKNOWN_PATH)
            return
        declared = self._declared(node)
        if self._language == "php":
            yield from self._documented(node, declared)
            return
        for leaf, value in self._declarators(node):
            yield Binding(leaf, (TYPE_SIGN + declared,) if declared else self._initial_path(node, value))

    def _documented(self, node: tree_sitter.Node, declared: str) -> Iterator[Binding]:
        """Bind the variables of a PHP declaration by its type, the type in its comment, or its value."""
        if node.type == "foreach_statement":
            yield from self._php_loop(node)
            return
        for leaf, value in self._declarators(node):
            is_parameter = node.type in _PHP_PARAMETERS
            name = self._node_text.text(leaf)
            documented = self._documentation.variable_type(node.start_byte, name, is_parameter=is_parameter)
            if node.type == "variadic_parameter":
                declared, documented = (
                    f"[]<{each}>" if each not in ("", UNKNOWN) else each for each in (declared, documented)
                )
            text = more_specific_type(declared, documented)
            yield Binding(leaf, (TYPE_SIGN + text,) if text else self._initial_path(node, value))

    def _php_loop(self, node: tree_sitter.Node) -> Iterator[Binding]:
        """Bind the variables of `foreach ($items as $key => $item)`."""
        body = node.child_by_field_name("body")
        parts = [child for child in node.named_children if child != body and child.type != "comment"]
        if len(parts) != 2:
            return
        value, target = parts
        if target.type == "pair" and target.named_child_count:
            target = target.named_children[-1]
        path = (*self._node_text.path(value), ELEMENT) if target.type == "variable_name" else _UNKNOWN_PATH
        for leaf in self._pattern_names(target):
            documented = self._documentation.comment_above(node.start_byte).variables.get(
                self._node_text.text(leaf), UNKNOWN
            )
            yield Binding(leaf, (TYPE_SIGN + documented,) if documented != UNKNOWN else path)

    def _initial_path(self, node: tree_sitter.Node, value: tree_sitter.Node | None) -> AccessPath:
        """Return the path of the initial value; of its elements in a loop."""
        path = self._path_of_value(value)
        return (*path, ELEMENT) if node.type in ("enhanced_for_statement", "foreach_statement") else path

    def _declared(self, node: tree_sitter.Node) -> str:
        """Return the written type of a declaration; empty if the type is inferred from the value."""
        declared = node.child_by_field_name("type")
        if declared is None and node.type == "instanceof_expression":
            declared = node.child_by_field_name("right")
        if declared is None:
            if node.type in _UNTYPED:
                return ""
            declared = next((child for child in node.named_children if child.type in self._grammar.types), None)
            if declared is None:
                inner = next((c for c in node.named_children if c.type in ("variable_declaration", "catch_type")), None)
                if inner is None:
                    return ""
                return self._node_text.type_text(inner) if inner.type == "catch_type" else self._declared(inner)
        text = self._node_text.type_text(declared)
        if text in _INFERRED or declared.type == "implicit_type":
            return ""
        return f"[]<{text}>" if node.type == "spread_parameter" else text

    def _declarators(self, node: tree_sitter.Node) -> Iterable[tuple[tree_sitter.Node, tree_sitter.Node | None]]:
        """Yield the declared name nodes of a declaration with their initial values."""
        inner = [child for child in node.named_children if child.type in _DECLARATORS]
        if inner:
            for child in inner:
                value = _value_node(child) or (_value_node(node) if len(inner) == 1 else None)
                yield from ((leaf, value) for leaf, _ in self._declarators(child))
            return
        if node.type == "instanceof_expression" and node.child_by_field_name("name") is None:
            return  # a test without a new variable: the type of the tested variable does not change
        target = next((t for name in _TARGETS if (t := node.child_by_field_name(name)) is not None), None)
        if target is None:
            names = [child for child in node.named_children if child.type in (*self._grammar.names, *VARIABLES)]
            target = names[-1] if names else None
        if target is None:
            return
        leaves = list(self._pattern_names(target))
        value = _value_node(node)
        for leaf in leaves:
            yield leaf, value if len(leaves) == 1 else None

    def _path_of_value(self, value: tree_sitter.Node | None) -> AccessPath:
        """Return the access path of an initial value; unknown if there is none."""
        return self._node_text.path(value) if value is not None else _UNKNOWN_PATH

    def _pattern_names(self, node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
        """Yield the name nodes that a pattern declares, without names of types."""
        kinds = self._grammar.names | VARIABLES
        is_rust = self._language == "rust"
        pending = [node]
        while pending:
            current = pending.pop()
            if current.type in kinds or current.type == "shorthand_field_identifier":
                if not is_rust or not self._node_text.text(current)[:1].isupper():
                    yield current
            elif current.type not in _NOT_IN_PATTERNS:
                skipped = current.child_by_field_name("type")
                value = current.child_by_field_name("value")
                pending.extend(c for c in reversed(current.named_children) if c not in (skipped, value))


def _leaves_block(body: tree_sitter.Node | None) -> bool:
    """Whether a block always leaves its enclosing block: it ends with return, throw, continue or break."""
    last = body.named_children[-1] if body is not None and body.named_child_count else None
    if body is not None and body.type in _LEAVING:
        return True
    if last is not None and last.type == "expression_statement":
        last = first_child(last)
    return last is not None and last.type in _LEAVING


def _expression_items(node: tree_sitter.Node | None) -> list[tree_sitter.Node]:
    """Return the expressions of an expression list; a single expression is a list of one."""
    if node is None:
        return []
    return list(node.named_children) if node.type == "expression_list" else [node]


def _c_leaf(node: tree_sitter.Node) -> tuple[tree_sitter.Node | None, int]:
    """Return the name node of a C declarator and its number of array dimensions; None for a function."""
    dimensions = 0
    current: tree_sitter.Node | None = node
    while current is not None and current.type in _C_DECLARATORS:
        dimensions += current.type == "array_declarator"
        current = current.child_by_field_name("declarator") or _declarator_child(current)
    is_name = current is not None and current.type in ("identifier", "field_identifier")
    return (current if is_name else None), dimensions


def _is_constructed(declarator: tree_sitter.Node) -> bool:
    """Whether a declarator inside a function is a constructor call and not a prototype: `Parser parser(input());`.

    It has arguments, and each of them may be an expression.
    """
    if declarator.type != "function_declarator":
        return False
    parameters = declarator.child_by_field_name("parameters")
    return (
        parameters is not None
        and bool(parameters.named_child_count)
        and not any(map(_is_parameter, parameters.named_children))
    )


def _is_parameter(node: tree_sitter.Node) -> bool:
    """Whether a C++ parameter cannot be an expression: `int`, `const Item`, `Item item`."""
    declared, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
    if declared is not None and declared.type in _PRIMITIVE:
        return True
    is_named = declarator is not None and declarator.type == "identifier"
    return is_named or any(child.type == "type_qualifier" for child in node.named_children)


def _declarator_child(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the inner declarator or name of a C declarator without a `declarator` field."""
    return next((c for c in node.named_children if c.type.endswith(("declarator", "identifier"))), None)


def _value_node(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the node of a declaration's initial value."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if value is None and node.named_child_count > 1 and node.type in (*_DECLARATORS, "property_declaration"):
        value = node.named_children[-1]
    return value
