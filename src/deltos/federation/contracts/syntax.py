"""Extract calls, definitions and imports from the syntax tree of a file, in a child process with limits."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from deltos.federation.contracts.facts import (
    OBJECT_PROPERTY,
    OTHER,
    Assignment,
    CodeDefinition,
    ContractFacts,
    Expression,
    ImportedName,
    Invocation,
)  # fmt: skip
from deltos.federation.contracts.imports import imports_of, required_names
from deltos.federation.contracts.rpc import proto_facts
from deltos.languages.grammar import parse
from deltos.languages.table import LANGUAGES, Language

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tree_sitter

_MAX_EXPRESSION_DEPTH = 12  # maximum nesting depth of expressions; deeper ones get the kind `other`
_MAX_LIST_ITEMS = 400  # maximum number of elements of one list or map
_MAX_PARAMETERS = 50  # maximum number of parameters of one function
_MAX_FACTS = 50_000  # maximum number of calls, assignments and definitions in one file
_MAX_NAME_CHARACTERS = 200
_FALLBACK_OPERATORS = frozenset({"||", "??", "or"})
_IGNORED_NODE_TYPES = frozenset(
    {"interpolation_brace", "comment", "line_comment", "block_comment", "type_conversion", "format_specifier"}
)
_JOIN_OPERATORS = frozenset({"+", ".", "%", "/"})
_FUNCTION_FIELDS = ("function", "constructor", "macro", "method", "name", "type")
_RECEIVER_FIELDS = ("object", "receiver", "scope")
_MEMBER_FIELDS = (("object", "attribute"), ("object", "property"), ("operand", "field"), ("expression", "name"),
                  ("value", "field"), ("path", "name"), ("scope", "name"), ("object", "field"))  # fmt: skip
_SEPARATOR_REPLACEMENTS = (
    ("?.", "."),
    ("::", "."),
    ("->", "."),
    ("\\", "."),
    ("$", ""),
    ("&", ""),
    ("this.", "self."),
    ("!.", "."),
)


@cache
def _roles() -> dict[str, frozenset[str]]:
    """Return the types of syntax tree nodes by role, such as call or assignment."""
    source = (files("deltos.federation.contracts") / "syntax.toml").read_text("utf-8")
    return {role: frozenset(types) for role, types in tomllib.loads(source).items()}


@cache
def _query(language: Language) -> tree_sitter.Query:
    """Return a tree-sitter query that captures calls, assignments, definitions and imports."""
    import tree_sitter  # deferred import: listing languages must not load a parser

    from deltos.languages.grammar import _load_grammar

    grammar = _load_grammar(language.grammar)
    roles = ("call", "annotation", "function", "class", "assignment", "import")
    known = {name for role in roles for name in _roles()[role] if grammar.id_for_node_kind(name, True)}
    return tree_sitter.Query(grammar, "\n".join(f"({name}) @fact" for name in sorted(known)))


def extract_facts(language_name: str, path: str, data: bytes) -> ContractFacts | None:
    """Return the facts of a file, or None if its language has no grammar."""
    import tree_sitter  # deferred import: loading a parser is slow

    if language_name == "protobuf":
        return proto_facts(path, data)
    language = next((each for each in LANGUAGES if each.name == language_name), None)
    tree = parse(language, data) if language else None
    if language is None or tree is None:
        return None
    facts = ContractFacts(path, language_name)
    found = tree_sitter.QueryCursor(_query(language)).captures(tree.root_node).get("fact", [])
    nodes = sorted(found, key=lambda node: (node.start_byte, -node.end_byte))[:_MAX_FACTS]
    _Extractor(facts).extract(nodes)
    return facts


class _Extractor:
    """Converts the captured syntax nodes of one file to facts."""

    def __init__(self, facts: ContractFacts) -> None:
        self._facts = facts
        self._open: list[tuple[int, str, int]] = []  # end, name and id of the definitions that enclose the current node
        self._classes: list[tuple[int, str]] = []

    def extract(self, nodes: list[tree_sitter.Node]) -> None:
        """Convert all nodes, which must be in document order, to facts."""
        roles = _roles()
        for node in nodes:
            self._close(node.start_byte)
            kind = node.type
            if kind in roles["annotation"] and _is_annotation(node):
                self._add_annotation(node)
            elif kind in roles["call"]:
                self._call(node, 0)
            elif kind in roles["function"]:
                self._add_function(node)
            elif kind in roles["class"]:
                self._add_class(node)
            elif kind in roles["assignment"]:
                self._add_assignment(node)
            elif kind in roles["import"]:
                self._facts.imports += [ImportedName(*each) for each in imports_of(node, _text)]
                if kind == "export_statement" and (value := node.child_by_field_name("value")):
                    self._assign("export default", value, node)
                elif kind == "export_statement" and any(child.type == "default" for child in node.children):
                    declared = node.child_by_field_name("declaration")
                    self._facts.assignments += (
                        [
                            Assignment(
                                "export default", Expression("name", _text(name)), 0, node.start_byte, node.end_byte
                            )
                            for name in (declared.child_by_field_name("name"),)
                            if name is not None
                        ]
                        if declared is not None
                        else []
                    )

    def _close(self, offset: int) -> None:
        while self._open and self._open[-1][0] <= offset:
            self._open.pop()
        while self._classes and self._classes[-1][0] <= offset:
            self._classes.pop()

    @property
    def _container(self) -> str:
        return self._classes[-1][1] if self._classes else ""

    def _add_function(self, node: tree_sitter.Node) -> None:
        parameters = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
        container = _go_receiver(node) or _object_name(node) or self._container
        known = tuple(_parameters(parameters)) if parameters else ()
        self._facts.functions[node.start_byte] = CodeDefinition(
            node.start_byte,
            node.end_byte,
            _function_name(node),
            _line(node.child_by_field_name("name") or node),
            container,
            known,
        )
        self._open.append((node.end_byte, "", node.start_byte))

    def _add_class(self, node: tree_sitter.Node) -> None:
        name = node.child_by_field_name("name") or node.child_by_field_name("type")
        if name is None:
            return
        bases = tuple(_bases(node))
        constructor = next((child for child in node.named_children if child.type == "parameter_list"), None)
        known = tuple(_parameters(constructor)) if constructor else ()
        self._facts.classes[node.start_byte] = CodeDefinition(
            node.start_byte, node.end_byte, _text(name).partition("<")[0], _line(node), self._container, known, bases
        )
        self._classes.append((node.end_byte, _text(name).partition("<")[0]))

    def _add_assignment(self, node: tree_sitter.Node) -> None:
        for name, value in _assignment_pairs(node):
            if len(self._facts.assignments) < _MAX_FACTS:
                self._assign(name, value, node)

    def _assign(self, name: str, value: tree_sitter.Node, node: tree_sitter.Node) -> None:
        scope = self._open[-1][2] if self._open else 0
        converted = self._expression(value, 0)
        if converted.kind == "call" and (module := self._required(converted)):
            self._facts.imports += [ImportedName(*each) for each in required_names(name, module)]
        elif converted.kind != "other":
            added = Assignment(name, converted, scope, node.start_byte, node.end_byte)
            self._facts.assignments.append(added)
            if self._container and not scope:
                self._facts.assignments.append(replace(added, name=f"{self._container}.{name}"))

    def _required(self, value: Expression) -> str:
        """Return the module name in a call of `require`, or an empty string."""
        call = self._facts.calls.get(value.place)
        is_plain = call is not None and call.name == "require" and call.on is None and call.arguments
        return call.arguments[0].text if call is not None and is_plain else ""

    def _add_annotation(self, node: tree_sitter.Node) -> None:
        inner = node
        if node.type == "decorator":
            inner = next((child for child in node.children if child.is_named), node)
        arguments, keywords = self._arguments(_arguments_node(inner), 0)
        target = _annotated(node)
        function = inner.child_by_field_name("function") if inner.type in _roles()["call"] else None
        name = dotted(_text(function or inner.child_by_field_name("name") or _first_named(inner) or inner))
        if inner.type in _roles()["name"] and node.type == "decorator":
            name = dotted(_text(inner))
        receiver, _, last = name.rpartition(".")
        on = Expression("name", receiver, place=node.start_byte) if receiver else None
        self._facts.annotations.append(
            Invocation(
                last, receiver, arguments, keywords, _line(node), node.start_byte, node.end_byte, on,
                target.start_byte if target else 0,
            )
        )  # fmt: skip

    def _call(self, node: tree_sitter.Node, depth: int) -> Expression:
        """Record a call and all preceding calls in the chain. Return an expression that refers to the call."""
        chain = [node]
        while (inner := _receiver(chain[-1])) is not None and inner.type in _roles()["call"]:
            chain.append(inner)
        for each in reversed(chain):
            if each.end_byte not in self._facts.calls and len(self._facts.calls) < _MAX_FACTS:
                self._record(each, depth)
        return Expression("call", place=node.end_byte)

    def _record(self, node: tree_sitter.Node, depth: int) -> None:
        name, receiver = _call_name(node)
        key, line = node.end_byte, (receiver.end_point[0] + 1 if receiver is not None else _line(node))
        arguments_node = _arguments_node(node)
        if receiver is not None and arguments_node is not None and arguments_node.start_byte >= receiver.end_byte:
            line = _line(arguments_node)
        self._facts.calls[key] = Invocation(name, "", (), (), line, node.start_byte, node.end_byte)
        arguments, keywords = self._arguments(arguments_node, depth + 1)
        if block := node.child_by_field_name("block"):
            arguments = (*arguments, Expression("function", place=block.start_byte))
        on: Expression | None = None
        written = ""
        if receiver is not None:
            is_call = receiver.type in _roles()["call"]
            on = Expression("call", place=receiver.end_byte) if is_call else self._expression(receiver, depth + 1)
            written = on.text if on.kind == "name" else ""
        self._facts.calls[key] = Invocation(
            name, written, arguments, keywords, line, node.start_byte, node.end_byte, on
        )

    def _arguments(
        self, node: tree_sitter.Node | None, depth: int
    ) -> tuple[tuple[Expression, ...], tuple[tuple[str, Expression], ...]]:
        """Return the positional and keyword arguments of a call."""
        if node is None or depth > _MAX_EXPRESSION_DEPTH:
            return (), ()
        positional: list[Expression] = []
        keywords: list[tuple[str, Expression]] = []
        if node.type == "token_tree":
            return self._token_arguments(node, depth)
        for child in node.named_children[:_MAX_LIST_ITEMS]:
            if "comment" in child.type:
                continue
            name = child.child_by_field_name("name") if child.type in ("argument", "attribute_argument") else None
            if child.type in _roles()["pair"]:
                if pair := self._pair(child, depth):
                    keywords.append(pair)
            elif name is not None:
                keywords.append((_text(name), self._expression(child.named_children[-1], depth + 1)))
            elif child.type == "assignment_expression" and (left := child.child_by_field_name("left")):
                right = child.child_by_field_name("right")
                keywords.append((_text(left), self._expression(right, depth + 1) if right else OTHER))
            else:
                positional.append(self._expression(child, depth + 1))
        return tuple(positional), tuple(keywords)

    def _token_arguments(
        self, node: tree_sitter.Node, depth: int
    ) -> tuple[tuple[Expression, ...], tuple[tuple[str, Expression], ...]]:
        """Return the arguments of a Rust macro or attribute, which the syntax tree contains only as tokens."""
        children = node.children[1:-1][:_MAX_LIST_ITEMS]
        positional: list[Expression] = []
        keywords: list[tuple[str, Expression]] = []
        key = ""
        for number, child in enumerate(children):
            following = children[number + 1].type if number + 1 < len(children) else ""
            if child.type == "identifier" and following == "=":
                key = _text(child)
            elif child.is_named and child.type != "token_tree" and following not in (".", "::"):
                value = self._expression(child, depth + 1)
                keywords.append((key, value)) if key else positional.append(value)
                key = ""
        return tuple(positional), tuple(keywords)

    def _pair(self, node: tree_sitter.Node, depth: int) -> tuple[str, Expression] | None:
        named = [child for child in node.named_children if "comment" not in child.type]
        if len(named) < 2:
            return None
        key = self._expression(named[0], depth + 1)
        return (key.text if key.kind in ("text", "name") else "", self._expression(named[-1], depth + 1))

    def _expression(self, node: tree_sitter.Node, depth: int) -> Expression:
        """Convert a syntax tree node to a simplified expression."""
        roles = _roles()
        kind = node.type
        if depth > _MAX_EXPRESSION_DEPTH:
            return OTHER
        if kind == "array_element_initializer" and len(node.named_children) > 1:
            return OTHER
        if kind in roles["string"]:
            return self._string(node, depth)
        if kind in roles["call"]:
            return self._call(node, depth)
        if kind in roles["function"] or kind in ("do_block", "block"):
            return Expression("function", place=node.start_byte)
        if kind in roles["concatenation"]:
            return self._join(node, depth)
        if kind in roles["map"] or _has_pairs(node):
            pairs = [self._map_pair(child, depth) for child in node.named_children[:_MAX_LIST_ITEMS]]
            return Expression("map", keywords=tuple(pair for pair in pairs if pair))
        if kind in roles["list"]:
            parts = [self._expression(child, depth + 1) for child in node.named_children[:_MAX_LIST_ITEMS]]
            return Expression("list", parts=tuple(parts), place=node.start_byte)
        if kind in roles["wrapper"] and node.named_children:
            inner = [
                child for child in node.named_children if child.type not in _IGNORED_NODE_TYPES
            ] or node.named_children
            value = self._expression(inner[0 if kind in roles["leading"] else -1], depth + 1)
            literal = node.child_by_field_name("type") if kind == "composite_literal" else None
            return replace(value, text=dotted(_text(literal))) if literal is not None else value
        if kind in roles["name"]:
            text = dotted(_text(node))
            is_plain = not set(text) & set("([{<\n ")
            return Expression("name", text, place=node.start_byte) if is_plain else self._member_of_call(node, depth)
        return OTHER

    def _member_of_call(self, node: tree_sitter.Node, depth: int) -> Expression:
        """Return the call of which a member is accessed, such as `include_router(x)` in `include_router(x).router`."""
        for object_field, _ in _MEMBER_FIELDS:
            inner = node.child_by_field_name(object_field)
            if inner is not None and inner.type in _roles()["call"]:
                return self._call(inner, depth + 1)
        return OTHER

    def _map_pair(self, node: tree_sitter.Node, depth: int) -> tuple[str, Expression] | None:
        if node.type == "shorthand_property_identifier":
            return _text(node), Expression("name", _text(node), place=node.start_byte)
        if node.type == "method_definition":
            name = node.child_by_field_name("name")
            return (_text(name), Expression("function", place=node.start_byte)) if name else None
        return self._pair(node, depth) if node.type in (*_roles()["pair"], "array_element_initializer") else None

    def _string(self, node: tree_sitter.Node, depth: int) -> Expression:
        roles = _roles()
        if node.type in ("simple_symbol", "hash_key_symbol", "bare_symbol"):
            return Expression("text", _text(node).strip(":"))
        parts: list[Expression] = []
        for child in node.named_children[:_MAX_LIST_ITEMS]:
            if child.type in roles["string_content"] or child.type in roles["escape"]:
                parts.append(Expression("text", _text(child)))
            elif child.type not in ("string_start", "string_end", "interpolation_start", "interpolation_quote"):
                parts.append(self._expression(child, depth + 1))
        if not node.named_children:
            return Expression("text", _unquote(_text(node)))
        if all(part.kind == "text" for part in parts):
            return Expression("text", "".join(part.text for part in parts))
        return Expression("join", parts=tuple(parts))

    def _join(self, node: tree_sitter.Node, depth: int) -> Expression:
        operator = node.child_by_field_name("operator")
        sign = operator.type if operator is not None else ""
        operands: list[tree_sitter.Node] = []
        at: tree_sitter.Node | None = node
        while at is not None and at.type in _roles()["concatenation"] and len(operands) < _MAX_LIST_ITEMS:
            right, left = at.child_by_field_name("right"), at.child_by_field_name("left")
            operands += [right] if right is not None else []
            at = left
        operands += [at] if at is not None else []
        parts = tuple(self._expression(each, depth + 1) for each in reversed(operands))
        if sign in _FALLBACK_OPERATORS:
            return next((part for part in reversed(parts) if part.kind in ("text", "join")), OTHER)
        if sign == "%" and parts:
            return Expression("join", "%", parts)
        return Expression("join", "/" if sign == "/" else "", parts) if sign in _JOIN_OPERATORS else OTHER


def dotted(text: str) -> str:
    """Return a name with dots instead of separators such as `::`, and without sigils such as `$`."""
    for old, new in _SEPARATOR_REPLACEMENTS:
        text = text.replace(old, new)
    head, mark, _ = text.partition("<")
    text = head if mark and text.endswith(">") else text
    return f"self.{text[1:]}" if text.startswith("@") else text.strip()


def _text(node: tree_sitter.Node) -> str:
    data = node.text or b""
    return data[: _MAX_NAME_CHARACTERS * 20].decode("utf-8", "replace")


def _line(node: tree_sitter.Node) -> int:
    return node.start_point[0] + 1


def _first_named(node: tree_sitter.Node) -> tree_sitter.Node | None:
    return next((child for child in node.children if child.is_named and child.type not in _roles()["arguments"]), None)


def _unquote(text: str) -> str:
    return text.lstrip("rb#@$").strip("\"'`#")


def _has_pairs(node: tree_sitter.Node) -> bool:
    """Whether a PHP array contains key-value pairs."""
    if node.type != "array_creation_expression" or not node.named_children:
        return False
    return len(node.named_children[0].named_children) > 1


def _is_annotation(node: tree_sitter.Node) -> bool:
    parent = node.parent
    if node.type != "attribute":
        return node.type != "attribute_item"
    return parent is not None and parent.type in ("attribute_list", "attribute_group", "attribute_item")


def _annotated(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the function or class to which an annotation is attached."""
    roles = _roles()
    targets = roles["function"] | roles["class"]
    at = node.parent
    while at is not None and at.type in ("modifiers", "attribute_list", "attribute_group", "attribute_item"):
        if at.type == "attribute_item":
            node = at
        at = at.parent
    if at is None:
        return None
    if at.type in targets:
        return at
    for name in ("definition", "declaration"):
        if inner := at.child_by_field_name(name):
            return inner if inner.type in targets else None
    following = node.next_named_sibling
    while following is not None and (following.type in ("decorator", "attribute_item") or "comment" in following.type):
        following = following.next_named_sibling
    if following is not None and following.type == "export_statement":
        following = following.child_by_field_name("declaration")
    return following if following is not None and following.type in targets else None


def _call_name(node: tree_sitter.Node) -> tuple[str, tree_sitter.Node | None]:
    """Return the name of the called function, and the node of the receiver."""
    function = _callee_node(node)
    if function is None:
        return "", None
    for object_field, name_field in _MEMBER_FIELDS:
        inner, name = function.child_by_field_name(object_field), function.child_by_field_name(name_field)
        if inner is not None and name is not None and function.type in _roles()["name"]:
            return _text(name).partition("<")[0], inner
    for field_name in _RECEIVER_FIELDS:
        if inner := node.child_by_field_name(field_name):
            return _text(function), inner
    return dotted(_text(function))[:_MAX_NAME_CHARACTERS], None


def _callee_node(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the node that contains the name of the called function."""
    for name in _FUNCTION_FIELDS:
        if function := node.child_by_field_name(name):
            while (
                function.type in ("generic_function", "instantiation_expression", "generic_name")
                and function.named_children
            ):
                function = function.named_children[0]
            return function
    return _first_named(node)


def _receiver(node: tree_sitter.Node) -> tree_sitter.Node | None:
    return _call_name(node)[1]


def _arguments_node(node: tree_sitter.Node) -> tree_sitter.Node | None:
    found = node.child_by_field_name("arguments") or node.child_by_field_name("parameters")
    if found is not None and found.type in _roles()["arguments"]:
        return found
    return next((child for child in node.children if child.type in _roles()["arguments"]), None)


def _parameters(node: tree_sitter.Node) -> Iterator[tuple[str, str]]:
    """Yield the name and type of each parameter of a function.

    The properties of a destructured object follow as parameters of the type `OBJECT_PROPERTY`.
    """
    if node.type in _roles()["name"]:
        yield _text(node), ""
        return
    properties: list[tuple[str, str]] = []
    for child in node.named_children[:_MAX_PARAMETERS]:
        name = (
            child.child_by_field_name("name")
            or child.child_by_field_name("pattern")
            or (_first_named(child) if child.named_children else child)
        )
        kind = child.child_by_field_name("type")
        if pattern := _object_pattern(child):
            yield "", ""
            properties += [(each, OBJECT_PROPERTY) for each in _property_names(pattern)]
        elif name is not None and child.type not in ("comment", "self_parameter"):
            yield dotted(_text(name))[:_MAX_NAME_CHARACTERS], dotted(_text(kind).strip(":* ")) if kind else ""
    yield from properties


def _object_pattern(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the pattern of a parameter that is a destructured object, such as `{ url, method = "GET" }`, or None."""
    inner = node.child_by_field_name("pattern") or node.child_by_field_name("left") or node
    return inner if inner.type == "object_pattern" else None


def _property_names(pattern: tree_sitter.Node) -> Iterator[str]:
    """Yield the properties of a destructured object whose variables have the same name as the property."""
    for child in pattern.named_children[:_MAX_PARAMETERS]:
        name = child.child_by_field_name("left") or child
        if name.type == "shorthand_property_identifier_pattern":
            yield _text(name)


def _bases(node: tree_sitter.Node) -> Iterator[str]:
    """Yield the base classes and interfaces of a class."""
    for name in ("superclasses", "superclass", "interfaces", "trait", "base_list", "bases"):
        if found := node.child_by_field_name(name):
            yield dotted(_text(found).strip("()"))
    for child in node.named_children:
        if child.type in ("base_list", "class_heritage", "base_clause"):
            yield dotted(_text(child))


def _go_receiver(node: tree_sitter.Node) -> str:
    """Return the type of the receiver of a Go method."""
    receiver = node.child_by_field_name("receiver")
    found = next(iter(_parameters(receiver)), None) if receiver is not None else None
    return found[1] if found else ""


def _object_name(node: tree_sitter.Node) -> str:
    """Return the name of the object variable that contains a function, as in `const api = { get() {} }`."""
    member = node.parent if node.parent is not None and node.parent.type == "pair" else node
    holder = member.parent.parent if member.parent is not None and member.parent.type == "object" else None
    name = holder.child_by_field_name("name") if holder is not None and holder.type == "variable_declarator" else None
    return _text(name) if name is not None else ""


def _function_name(node: tree_sitter.Node) -> str:
    """Return the name of a function, or of the variable or key to which an anonymous function is assigned."""
    if own := node.child_by_field_name("name"):
        return _text(own)
    parent = node.parent
    if parent is not None and parent.type == "expression_list":
        parent = parent.parent
    for name in ("name", "left", "key"):
        if parent is not None and (found := parent.child_by_field_name(name)):
            return dotted(_text(found))[:_MAX_NAME_CHARACTERS].rpartition(".")[2]
    return ""


def _assignment_pairs(node: tree_sitter.Node) -> Iterator[tuple[str, tree_sitter.Node]]:
    """Yield each name and value of an assignment, which may have several targets."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    names = node.children_by_field_name("name") or node.children_by_field_name("left")
    names = names or node.children_by_field_name("pattern") or node.children_by_field_name("property")
    if not names and node.named_children:
        names = node.named_children[:1]
    if value is None and len(node.named_children) > 1:
        value = node.named_children[-1]
    if value is None or not names or value == names[0]:
        return
    left = [part for name in names for part in (name.named_children if name.type == "expression_list" else [name])]
    right = value.named_children if value.type == "expression_list" else [value]
    for name, each in zip(left, right, strict=False):
        if len(text := dotted(_text(name))) <= _MAX_NAME_CHARACTERS:
            yield text, each
