"""The names that a declaration binds, each with what it holds: a written type, or the value it starts with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.declared.facts import ELEMENT, KEY, TYPE_SIGN, UNKNOWN, UNWRAPPED
from deltos.domains.graph.declared.phpdoc import more_telling
from deltos.domains.graph.declared.written import VARIABLES, first_child

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import tree_sitter

    from deltos.domains.graph.declared.facts import AccessPath
    from deltos.domains.graph.declared.phpdoc import Documentation
    from deltos.domains.graph.declared.shapes import GrammarShape
    from deltos.domains.graph.declared.written import Written

_NOTHING: AccessPath = (UNKNOWN,)
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
"""What guards a part of itself by a condition."""
_LEAVING = frozenset({"return_statement", "throw_expression", "continue_statement", "break_statement"})
_MOST_CONDITIONS = 32
_UNWRAPPING = frozenset({"Some", "Ok"})
_TESTS_OF_FIXTURES = frozenset({"TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P"})


class Binding(NamedTuple):
    """A name that is bound, and what it holds."""

    leaf: tree_sitter.Node
    path: AccessPath


class Declarations:
    """Reads the declarations of one file."""

    def __init__(self, written: Written, shape: GrammarShape, language: str, documentation: Documentation) -> None:
        self._written = written
        self._documentation = documentation
        self._shape = shape
        self._language = language
        self._matched_values: dict[int, tree_sitter.Node] = {}
        self._switched: dict[int, tree_sitter.Node] = {}
        self._repeated: dict[int, tree_sitter.Node] = {}

    def note(self, node: tree_sitter.Node) -> None:
        """Keep what the arms of a `match` or `switch` need of the statement around them: asking a node for its parent
        takes longer the deeper it stands."""
        if node.type == "match_expression":
            value, body = node.child_by_field_name("value"), node.child_by_field_name("body")
            if value is not None and body is not None:
                self._matched_values.update({arm.id: value for arm in body.named_children})
        elif node.type == "const_declaration" and self._language == "go":
            said = None
            for spec in node.named_children:
                if spec.child_by_field_name("type") or spec.child_by_field_name("value"):
                    said = spec
                elif said is not None:
                    self._repeated[spec.id] = said
        elif node.type == "type_switch_statement":
            alias = node.child_by_field_name("alias")
            if alias is not None:
                self._switched.update({case.id: alias for case in node.named_children})

    def is_prototype(self, node: tree_sitter.Node) -> bool:
        """Whether a declaration of C or C++ declares a function, whose parameters are nobody's."""
        if self._language not in ("c", "cpp"):
            return False
        declarators = node.children_by_field_name("declarator")
        return bool(declarators) and all(self._variable(node, declarator)[0] is None for declarator in declarators)

    def _variable(self, node: tree_sitter.Node, declarator: tree_sitter.Node) -> tuple[tree_sitter.Node | None, int]:
        """The variable that a declarator of C or C++ declares, and how many dimensions it has; none for a function."""
        if self._is_local(node) and _is_constructed(declarator):
            return _c_leaf(declarator.child_by_field_name("declarator") or declarator)
        return _c_leaf(declarator)

    def _is_local(self, node: tree_sitter.Node) -> bool:
        """Whether a declaration of C++ stands in a function and declares what may have a constructor."""
        if self._language != "cpp" or node.type != "declaration" or not self._written.is_inside:
            return False
        declared = node.child_by_field_name("type")  # a class declares its constructor without one
        return declared is not None and declared.type not in _PRIMITIVE

    def fixture(self, node: tree_sitter.Node) -> str:
        """The class that a test of GoogleTest belongs to: `TEST_F(Fixture, Name) {…}`; empty for anything else."""
        macro, parameters = self._test(node)
        if macro not in _TESTS_OF_FIXTURES or not parameters:
            return ""
        return self._written.type_text(parameters[0].child_by_field_name("type"))

    def test_names(self, node: tree_sitter.Node) -> list[tree_sitter.Node]:
        """The names that a test of GoogleTest gives to itself and its suite, and that refer to nothing."""
        macro, parameters = self._test(node)
        named = parameters[1:] if macro in _TESTS_OF_FIXTURES else parameters if macro == "TEST" else []
        return [declared for each in named if (declared := each.child_by_field_name("type")) is not None]

    def _test(self, node: tree_sitter.Node) -> tuple[str, list[tree_sitter.Node]]:
        """The macro that a function of C++ looks to be named like, and what stands in its parentheses."""
        declarator = node.child_by_field_name("declarator")
        name = declarator.child_by_field_name("declarator") if declarator is not None else None
        parameters = declarator.child_by_field_name("parameters") if declarator is not None else None
        if name is None or parameters is None:
            return "", []
        return self._written.text(name), parameters.named_children[:2]

    def qualified_name(self, node: tree_sitter.Node) -> tree_sitter.Node | None:
        """The last name of the function of C++ that is defined outside its class: `run` of `void Job::run() {…}`."""
        current = node.child_by_field_name("declarator")
        while current is not None and current.type in (*_C_DECLARATORS, "function_declarator"):
            current = current.child_by_field_name("declarator") or _declarator_child(current)
        if current is None or current.type != "qualified_identifier":
            return None
        while current is not None and current.child_count:
            current = current.child_by_field_name("name") or first_child(current)
        return current

    def prototype_name(self, node: tree_sitter.Node) -> str:
        """The name of the function that a declaration of C++ declares; empty where that is none of a plain name."""
        current = node.child_by_field_name("declarator")
        while current is not None and current.type in _C_DECLARATORS:
            current = current.child_by_field_name("declarator") or _declarator_child(current)
        name = current.child_by_field_name("declarator") if current is not None else None
        is_plain = name is not None and name.type in ("identifier", "field_identifier")
        return self._written.text(name) if name is not None and is_plain else ""

    def bindings(self, node: tree_sitter.Node) -> list[Binding]:
        """The names that a node binds in the scope around it, or inside it where it opens one."""
        if self._language == "go":
            return list(self._go(node))
        if self._language in ("c", "cpp"):
            return list(self._c(node))
        if self._language == "rust":
            return list(self._rust(node))
        return list(self._named(node))

    # --- what conditions of PHP tell

    def narrowed(self, node: tree_sitter.Node) -> tuple[tree_sitter.Node | None, list[Binding], list[Binding]]:
        """What a condition guards, the variables that it narrows there, and those that it narrows for what follows:
        `if (!$x instanceof Foo) return;`."""
        if node.type == "binary_expression":
            left, operator = node.child_by_field_name("left"), node.child_by_field_name("operator")
            is_both = left is not None and operator is not None and operator.type in ("&&", "and")
            inside = self._instances(left, is_negated=False) if is_both else []
            return node.child_by_field_name("right"), inside, []
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        inside = self._instances(condition, is_negated=False)
        is_guard = node.type == "if_statement" and node.child_by_field_name("alternative") is None and _leaves(body)
        return body, inside, self._instances(condition, is_negated=True) if is_guard else []

    def _instances(self, condition: tree_sitter.Node | None, *, is_negated: bool) -> list[Binding]:
        """The variables whose class a condition tells where it holds, or where it does not."""
        found: list[Binding] = []
        pending = [condition]
        for _ in range(_MOST_CONDITIONS):
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
                found.append(Binding(left, (TYPE_SIGN + self._written.type_text(right),)))
        return found

    # --- Go

    def _go(self, node: tree_sitter.Node) -> Iterator[Binding]:
        kind = node.type
        if kind in ("parameter_declaration", "variadic_parameter_declaration", "field_declaration"):
            text = self._written.type_text(node.child_by_field_name("type"))
            path = (TYPE_SIGN + (f"[]<{text}>" if kind.startswith("variadic") else text),)
            yield from (Binding(name, path) for name in node.children_by_field_name("name"))
        elif kind in ("var_spec", "const_spec"):
            said = self._repeated.get(node.id, node)  # a constant without a value repeats the one before
            declared = said.child_by_field_name("type")
            names = node.children_by_field_name("name")
            if declared is not None:
                path = (TYPE_SIGN + self._written.type_text(declared),)
                yield from (Binding(name, path) for name in names)
            else:
                yield from self._parallel(names, said.child_by_field_name("value"))
        elif kind == "range_clause":
            value = self._written.path(node.child_by_field_name("right"))
            names = _items(node.child_by_field_name("left"))
            yield from (Binding(name, (*value, step)) for name, step in zip(names, (KEY, ELEMENT), strict=False))
        elif kind == "type_case":
            yield from self._go_case(node)
        else:
            names = _items(node.child_by_field_name("left") or node.child_by_field_name("alias"))
            yield from self._parallel(names, node.child_by_field_name("right") or node.child_by_field_name("value"))

    def _go_case(self, node: tree_sitter.Node) -> Iterator[Binding]:
        """`case *T:` of `switch x := v.(type)`: x is a T there."""
        alias = self._switched.get(node.id)
        types = node.children_by_field_name("type")
        if alias is not None and len(types) == 1:
            yield from (Binding(name, (TYPE_SIGN + self._written.type_text(types[0]),)) for name in _items(alias))

    def _parallel(self, names: list[tree_sitter.Node], value: tree_sitter.Node | None) -> Iterator[Binding]:
        """Names and values one to one, or names that share the results of one call."""
        values = _items(value)
        names = [name for name in names if name.type in self._shape.names]
        if len(values) == 1 and len(names) > 1:
            path = self._written.path(values[0])
            yield from (Binding(name, (*path, f"#{position}")) for position, name in enumerate(names))
            return
        for position, name in enumerate(names):
            path = self._written.path(values[position]) if position < len(values) else _NOTHING
            yield Binding(name, path)

    # --- C and C++

    def _c(self, node: tree_sitter.Node) -> Iterator[Binding]:
        text = self._written.type_text(node.child_by_field_name("type"))
        for declarator in node.children_by_field_name("declarator"):
            leaf, dimensions = self._variable(node, declarator)
            if leaf is None:
                continue
            if text not in _INFERRED:
                yield Binding(leaf, (TYPE_SIGN + "[]<" * dimensions + text + ">" * dimensions,))
                continue
            value = declarator.child_by_field_name("value")
            loop = node.child_by_field_name("right") if node.type == "for_range_loop" else None
            path = (*self._written.path(loop), ELEMENT) if loop is not None else self._value(value)
            yield Binding(leaf, path)

    # --- Rust

    def _rust(self, node: tree_sitter.Node) -> Iterator[Binding]:
        if node.type == "closure_parameters":
            bare = [child for child in node.named_children if child.type != "parameter"]
            yield from (Binding(leaf, _NOTHING) for child in bare for leaf in self._leaves(child))
            return
        declared = node.child_by_field_name("type")
        pattern = node.child_by_field_name("pattern") or node.child_by_field_name("name")
        if pattern is None:
            return
        if declared is not None:
            yield from self._matched(pattern, (TYPE_SIGN + self._written.type_text(declared),))
            return
        value = node.child_by_field_name("value")
        if node.type == "match_arm":
            value = self._matched_values.get(node.id)
        path = self._value(value)
        yield from self._matched(pattern, (*path, ELEMENT) if node.type == "for_expression" else path)

    def _matched(self, pattern: tree_sitter.Node, path: AccessPath) -> Iterator[Binding]:
        """The names of a pattern: the whole value, one of a tuple, or what `Some` and `Ok` hold."""
        while pattern.type in ("match_pattern", "ref_pattern", "mut_pattern", "reference_pattern"):
            inner = [child for child in pattern.named_children if child.type != "mutable_specifier"]
            if not inner:
                return
            pattern = inner[0]
        if pattern.type in self._shape.names or pattern.type == "field_identifier":
            if not self._written.text(pattern)[:1].isupper():
                yield Binding(pattern, path)
        elif pattern.type == "tuple_pattern":
            for position, child in enumerate(pattern.named_children):
                here = (*path, f"#{position}") if child.type in self._shape.names else _NOTHING
                yield from (Binding(leaf, here) for leaf in self._leaves(child))
        elif pattern.type == "tuple_struct_pattern" and self._is_unwrapping(pattern):
            for child in pattern.named_children[1:]:
                is_whole = child.type in self._shape.names or child.type in ("ref_pattern", "mut_pattern")
                held = (*path, UNWRAPPED) if is_whole else _NOTHING
                yield from (Binding(leaf, held) for leaf in self._leaves(child))
        else:
            yield from (Binding(leaf, _NOTHING) for leaf in self._leaves(pattern))

    def _is_unwrapping(self, pattern: tree_sitter.Node) -> bool:
        name = pattern.child_by_field_name("type")
        return name is not None and self._written.text(name) in _UNWRAPPING

    # --- the others

    def _named(self, node: tree_sitter.Node) -> Iterator[Binding]:
        kind = node.type
        if kind in ("inferred_parameters", "lambda_parameters", "method_parameters", "block_parameters"):
            yield from (Binding(leaf, _NOTHING) for leaf in self._leaves(node))
            return
        if kind in ("lambda_expression", "implicit_parameter"):
            single = node.child_by_field_name("parameters") or (node if kind == "implicit_parameter" else None)
            if single is not None and single.type in (*self._shape.names, "implicit_parameter"):
                yield Binding(single, _NOTHING)
            return
        declared = self._declared(node)
        if self._language == "php":
            yield from self._documented(node, declared)
            return
        for leaf, value in self._declarators(node):
            yield Binding(leaf, (TYPE_SIGN + declared,) if declared else self._started(node, value))

    def _documented(self, node: tree_sitter.Node, declared: str) -> Iterator[Binding]:
        """What PHP binds: by its type, the one in its comment, or its value."""
        if node.type == "foreach_statement":
            yield from self._php_loop(node)
            return
        for leaf, value in self._declarators(node):
            is_parameter = node.type in _PHP_PARAMETERS
            name = self._written.text(leaf)
            told = self._documentation.of_variable(node.start_byte, name, is_parameter=is_parameter)
            if node.type == "variadic_parameter":
                declared, told = (f"[]<{each}>" if each not in ("", UNKNOWN) else each for each in (declared, told))
            text = more_telling(declared, told)
            yield Binding(leaf, (TYPE_SIGN + text,) if text else self._started(node, value))

    def _php_loop(self, node: tree_sitter.Node) -> Iterator[Binding]:
        """`foreach ($items as $key => $item)`."""
        body = node.child_by_field_name("body")
        parts = [child for child in node.named_children if child != body and child.type != "comment"]
        if len(parts) != 2:
            return
        value, target = parts
        if target.type == "pair" and target.named_child_count:
            target = target.named_children[-1]
        path = (*self._written.path(value), ELEMENT) if target.type == "variable_name" else _NOTHING
        for leaf in self._leaves(target):
            told = self._documentation.above(node.start_byte).variables.get(self._written.text(leaf), UNKNOWN)
            yield Binding(leaf, (TYPE_SIGN + told,) if told != UNKNOWN else path)

    def _started(self, node: tree_sitter.Node, value: tree_sitter.Node | None) -> AccessPath:
        path = self._value(value)
        return (*path, ELEMENT) if node.type in ("enhanced_for_statement", "foreach_statement") else path

    def _declared(self, node: tree_sitter.Node) -> str:
        """The written type of a declaration; empty where it leaves it to the value."""
        declared = node.child_by_field_name("type")
        if declared is None and node.type == "instanceof_expression":
            declared = node.child_by_field_name("right")
        if declared is None:
            if node.type in _UNTYPED:
                return ""
            declared = next((child for child in node.named_children if child.type in self._shape.types), None)
            if declared is None:
                inner = next((c for c in node.named_children if c.type in ("variable_declaration", "catch_type")), None)
                if inner is None:
                    return ""
                return self._written.type_text(inner) if inner.type == "catch_type" else self._declared(inner)
        text = self._written.type_text(declared)
        if text in _INFERRED or declared.type == "implicit_type":
            return ""
        return f"[]<{text}>" if node.type == "spread_parameter" else text

    def _declarators(self, node: tree_sitter.Node) -> Iterable[tuple[tree_sitter.Node, tree_sitter.Node | None]]:
        inner = [child for child in node.named_children if child.type in _DECLARATORS]
        if inner:
            for child in inner:
                value = _value(child) or (_value(node) if len(inner) == 1 else None)
                yield from ((leaf, value) for leaf, _ in self._declarators(child))
            return
        if node.type == "instanceof_expression" and node.child_by_field_name("name") is None:
            return  # a test alone: the variable stays what it was declared as
        target = next((t for name in _TARGETS if (t := node.child_by_field_name(name)) is not None), None)
        if target is None:
            names = [child for child in node.named_children if child.type in (*self._shape.names, *VARIABLES)]
            target = names[-1] if names else None
        if target is None:
            return
        leaves = list(self._leaves(target))
        value = _value(node)
        for leaf in leaves:
            yield leaf, value if len(leaves) == 1 else None

    def _value(self, value: tree_sitter.Node | None) -> AccessPath:
        return self._written.path(value) if value is not None else _NOTHING

    def _leaves(self, node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
        """The names in a declared pattern; not those of its types."""
        kinds = self._shape.names | VARIABLES
        is_rust = self._language == "rust"
        pending = [node]
        while pending:
            current = pending.pop()
            if current.type in kinds or current.type == "shorthand_field_identifier":
                if not is_rust or not self._written.text(current)[:1].isupper():
                    yield current
            elif current.type not in _NOT_IN_PATTERNS:
                skipped = current.child_by_field_name("type")
                value = current.child_by_field_name("value")
                pending.extend(c for c in reversed(current.named_children) if c not in (skipped, value))


def _leaves(body: tree_sitter.Node | None) -> bool:
    """Whether what follows a block is not reached from inside it."""
    last = body.named_children[-1] if body is not None and body.named_child_count else None
    if body is not None and body.type in _LEAVING:
        return True
    if last is not None and last.type == "expression_statement":
        last = first_child(last)
    return last is not None and last.type in _LEAVING


def _items(node: tree_sitter.Node | None) -> list[tree_sitter.Node]:
    if node is None:
        return []
    return list(node.named_children) if node.type == "expression_list" else [node]


def _c_leaf(node: tree_sitter.Node) -> tuple[tree_sitter.Node | None, int]:
    """The name that a declarator declares, and how many dimensions it has; none for a function's."""
    dimensions = 0
    current: tree_sitter.Node | None = node
    while current is not None and current.type in _C_DECLARATORS:
        dimensions += current.type == "array_declarator"
        current = current.child_by_field_name("declarator") or _declarator_child(current)
    is_name = current is not None and current.type in ("identifier", "field_identifier")
    return (current if is_name else None), dimensions


def _is_constructed(declarator: tree_sitter.Node) -> bool:
    """Whether what looks like a prototype in a function is a variable that is constructed, `Parser parser(input());`:
    it has arguments, and none of them can only be a parameter."""
    if declarator.type != "function_declarator":
        return False
    parameters = declarator.child_by_field_name("parameters")
    return (
        parameters is not None
        and bool(parameters.named_child_count)
        and not any(map(_is_parameter, parameters.named_children))
    )


def _is_parameter(node: tree_sitter.Node) -> bool:
    """Whether a parameter of C++ is no expression that is written the same: `int`, `const Item`, `Item item`."""
    declared, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
    if declared is not None and declared.type in _PRIMITIVE:
        return True
    is_named = declarator is not None and declarator.type == "identifier"
    return is_named or any(child.type == "type_qualifier" for child in node.named_children)


def _declarator_child(node: tree_sitter.Node) -> tree_sitter.Node | None:
    return next((c for c in node.named_children if c.type.endswith(("declarator", "identifier"))), None)


def _value(node: tree_sitter.Node) -> tree_sitter.Node | None:
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if value is None and node.named_child_count > 1 and node.type in (*_DECLARATORS, "property_declaration"):
        value = node.named_children[-1]
    return value
