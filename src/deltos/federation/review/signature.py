"""Extract the parameters of definitions and the arguments of calls from syntax trees of any language.

A list is split at commas. The kind of each parameter follows from markers that most languages share: `=` before a
default value, and `*` or `...` before a rest parameter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import tree_sitter

POSITIONAL: Literal["positional"] = "positional"
EITHER: Literal["either"] = "either"
KEYWORD: Literal["keyword"] = "keyword"
REST: Literal["rest"] = "rest"
KEYWORD_REST: Literal["keyword rest"] = "keyword rest"
ParameterKind = Literal["positional", "either", "keyword", "rest", "keyword rest"]

KEYWORD_SIGNS = {
    "python": "=", "kotlin": "=", "scala": "=", "ruby": ":", "csharp": ":", "php": ":", "swift": ":",
}  # fmt: skip
"""The sign between the name and the value of a named argument, by language."""
_LIST_FIELDS = ("parameters", "arguments")
_LIST_TYPES = frozenset(
    {
        "parameters",
        "formal_parameters",
        "parameter_list",
        "function_value_parameters",
        "class_parameters",
        "method_parameters",
        "arguments",
        "argument_list",
        "value_arguments",
    }
)
_DESTRUCTURING_TYPES = frozenset({"object_pattern", "array_pattern", "tuple_pattern", "struct_pattern"})
_COMMENT_TYPES = frozenset({"comment", "line_comment", "block_comment"})
_NAME_FIELDS = ("name", "pattern", "left", "declarator")
_MAX_LEVELS_UP = 5  # maximum distance of the parameter list's parent from the name node
_MAX_NAME_LEVELS = 6  # maximum depth of the name in a parameter node
# In Python, parameters before `/` are positional-only, and parameters after `*` are keyword-only.
_SEPARATORS = {"/": "/", "*": "*"}
_REST_PREFIXES = ("vararg ", "params ")
# Languages in which `...` after the type marks a rest parameter. Elsewhere, types may contain it: `tuple[int, ...]`.
_LANGUAGES_WITH_REST_AFTER_TYPE = frozenset({"go", "java", "php", "c", "cpp"})
_RECEIVER_NAMES = frozenset({"self", "cls", "&self", "&mut self", "mut self", "this"})
_IDENTIFIER = re.compile(r"\$?[^\W\d]\w*\Z")
_UNPACKING_PREFIXES = {"python": ("*",), "ruby": ("*", "&")}
"""Signs before an argument that is a list, a map or a block. `*p` and `&p` are plain arguments elsewhere."""
# Languages in which a block after a call is an argument.
_BLOCK_LANGUAGES = frozenset({"kotlin", "swift", "ruby", "scala"})
_TYPE_ARGUMENT_PREFIXES = ("<", "::<", "[", "?.", "!")


@dataclass(frozen=True, slots=True)
class DeclaredParameter:
    """A parameter of a definition. `is_required` is true if each call must pass an argument."""

    name: str
    kind: ParameterKind = EITHER
    is_required: bool = True
    default: str = ""


@dataclass(frozen=True, slots=True)
class ArgumentList:
    """The arguments of one call: the number of positional arguments and the names of keyword arguments.

    `has_rest` and `has_keyword_rest` are true if the call unpacks a list or a mapping.
    """

    positional_count: int
    keywords: tuple[str, ...] = ()
    has_rest: bool = False
    has_keyword_rest: bool = False


def read_parameters(
    name: tree_sitter.Node, language: str, *, is_type: bool = False
) -> tuple[DeclaredParameter, ...] | None:
    """Return the parameters of the definition with this name node, or None if it has no parameter list.

    The parameters of a type are those of its primary constructor, as in Kotlin and Scala.
    """
    items = _constructor_items(name) if is_type else _parameter_items(name)
    if items is None:
        return None
    found: list[DeclaredParameter] = []
    for nodes in items:
        text = _text_of(nodes)
        if text in _SEPARATORS or nodes[0].type in ("keyword_separator", "positional_separator"):
            _apply_separator(found, text)
        elif not _is_receiver(nodes[0], text, is_first=not found):
            found += _parameters_of(nodes, text, language, after_rest=_has_rest_parameter(found))
    return tuple(each for each in found if each.name != "*")


def read_arguments(name: tree_sitter.Node, language: str) -> ArgumentList | None:
    """Return the arguments of the call whose callee ends with this name node, or None if it is not a call."""
    node: tree_sitter.Node | None = name
    for _ in range(_MAX_LEVELS_UP):
        node = node.parent if node is not None else None
        if node is None:
            return None
        arguments = _list_child(node, after=name)
        if arguments is not None:
            return _arguments_in(arguments, node, language) if _is_callee_end(name, arguments) else None
    return None


def name_nodes(root: tree_sitter.Node, row: int, line: bytes, name: str) -> Iterable[tree_sitter.Node]:
    """Yield the nodes on a line whose text equals a name."""
    wanted = name.encode()
    at = line.find(wanted) if wanted else -1
    while at >= 0:
        node = root.descendant_for_point_range((row, at), (row, at + len(wanted)))
        if node is not None and node.text == wanted:
            yield node
        at = line.find(wanted, at + 1)


def _parameter_items(name: tree_sitter.Node) -> list[list[tree_sitter.Node]] | None:
    """Return the syntax nodes of each parameter of the definition with this name node, or None."""
    node: tree_sitter.Node | None = name
    for _ in range(_MAX_LEVELS_UP):
        node = node.parent if node is not None else None
        if node is None:
            return None
        value = node.child_by_field_name("value")
        holders = [node, *([value] if value is not None and value.start_byte >= name.end_byte else [])]
        for holder in holders:
            if (items := _items_of_definition(holder, name)) is not None:
                return items
        if holders[1:]:
            return None
    return None


def _constructor_items(name: tree_sitter.Node) -> list[list[tree_sitter.Node]] | None:
    """Return the syntax nodes of each parameter of a type's primary constructor, or None."""
    pending = [*name.parent.children] if name.parent is not None else []
    for node in pending:
        if node.type == "class_parameters":
            return _split_at_commas(node.children)
        if node.type == "primary_constructor":
            pending += node.children
    return None


def _items_of_definition(holder: tree_sitter.Node, name: tree_sitter.Node) -> list[list[tree_sitter.Node]] | None:
    """Return the syntax nodes of each parameter of a definition, or None.

    Swift's syntax tree has no node for the parameter list.
    """
    single = holder.child_by_field_name("parameter")  # a JavaScript function with a single parameter: `a => 1`
    if single is not None:
        return [[single]]
    found = _list_child(holder, after=name)
    if found is not None:
        return _split_at_commas(found.children)
    return _split_parentheses(holder.children, name) if holder.type.endswith("_declaration") else None


def _split_parentheses(
    children: Sequence[tree_sitter.Node], name: tree_sitter.Node
) -> list[list[tree_sitter.Node]] | None:
    """Return the syntax nodes in the first parentheses after a name, split at commas."""
    start = next((at for at, each in enumerate(children) if each.type == "(" and each.start_byte >= name.end_byte), -1)
    end = next((at for at, each in enumerate(children) if each.type == ")" and at > start), -1)
    return _split_at_commas(children[start : end + 1]) if 0 <= start < end else None


def _list_child(node: tree_sitter.Node, after: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the child of a node that is the first parameter or argument list after a name."""
    for field in _LIST_FIELDS:
        found = node.child_by_field_name(field)
        if found is not None and found.start_byte >= after.end_byte:
            return found
    for child in node.children:
        if child.start_byte < after.end_byte:
            continue
        if child.type in _LIST_TYPES:
            return child
        if child.type == "call_suffix":  # Swift
            return _list_child(child, after)
    return None


def _split_at_commas(children: Sequence[tree_sitter.Node]) -> list[list[tree_sitter.Node]]:
    """Return the syntax nodes between parentheses, split at commas."""
    items: list[list[tree_sitter.Node]] = [[]]
    for child in children:
        if child.type == ",":
            items.append([])
        elif child.type not in _COMMENT_TYPES and child.type not in ("(", ")"):
            items[-1].append(child)
    return [item for item in items if item]


def _text_of(nodes: Sequence[tree_sitter.Node]) -> str:
    return " ".join(" ".join((node.text or b"").decode("utf-8", "replace").split()) for node in nodes)


def _apply_separator(found: list[DeclaredParameter], text: str) -> None:
    """Make the parameters before Python's `/` positional-only, or record `*` as a rest parameter."""
    if text == "/":
        found[:] = [DeclaredParameter(each.name, POSITIONAL, each.is_required, each.default) for each in found]
    else:
        found.append(DeclaredParameter("*", REST, is_required=False))


def _has_rest_parameter(found: Sequence[DeclaredParameter]) -> bool:
    return any(each.kind == REST for each in found)


def _is_receiver(node: tree_sitter.Node, text: str, *, is_first: bool) -> bool:
    """Whether calls pass no argument for a parameter: a receiver such as `self`, or `void` in C."""
    if node.type in ("self_parameter", "receiver_parameter") or text == "void":
        return True
    return is_first and (text in _RECEIVER_NAMES or text.partition(":")[0].strip() in ("self", "cls"))


def _parameters_of(
    nodes: Sequence[tree_sitter.Node], text: str, language: str, *, after_rest: bool
) -> list[DeclaredParameter]:
    """Return the parameters of one parameter declaration. In Go, `a, b int` declares two."""
    first = next((node for node in nodes if node.type != "parameter_modifiers"), nodes[0])
    default = _default_of(nodes)
    name = _name_of(first) or text
    if first.type == "keyword_parameter":  # Ruby
        return [
            DeclaredParameter(name, KEYWORD, is_required=first.child_by_field_name("value") is None, default=default)
        ]
    if first.type == "block_parameter":
        return [DeclaredParameter(name, KEYWORD, is_required=False)]
    if text.startswith("**"):
        return [DeclaredParameter(name, KEYWORD_REST, is_required=False)]
    if text.startswith(("*", "...", *_REST_PREFIXES)) or _is_rest(first, text, language):
        return [DeclaredParameter(name, REST, is_required=False)]
    is_optional = bool(default) or first.type == "optional_parameter"
    kind = KEYWORD if after_rest and language == "python" else EITHER
    names = [_plain_text(each) for each in first.children_by_field_name("name")] if language == "go" else []
    return [DeclaredParameter(each, kind, not is_optional, default) for each in names or [name]]


def _is_rest(node: tree_sitter.Node, text: str, language: str) -> bool:
    """Whether a parameter takes any number of arguments."""
    is_marked = language in _LANGUAGES_WITH_REST_AFTER_TYPE and "..." in text.partition("=")[0]
    return "variadic" in node.type or "spread" in node.type or is_marked


def _default_of(nodes: Sequence[tree_sitter.Node]) -> str:
    """Return the text of a default value, or an empty string."""
    for siblings in (nodes, *(node.children for node in nodes[:1])):
        at = next((at for at, each in enumerate(siblings) if each.type == "="), -1)
        if at >= 0:
            return _text_of(siblings[at + 1 : at + 2]) or "?"
    value = nodes[0].child_by_field_name("value") or nodes[0].child_by_field_name("default_value")
    if value is None and len(nodes) > 1 and nodes[-1].type.endswith("_literal"):
        value = nodes[-1]
    return _plain_text(value) if value is not None else ""


def _name_of(node: tree_sitter.Node, level: int = 0) -> str:
    """Return the parameter name in a syntax node, or an empty string for a destructuring pattern."""
    external = node.child_by_field_name("external_name")  # the argument label in Swift
    if external is not None:
        return _plain_text(external)
    text = _plain_text(node)
    if _IDENTIFIER.match(text):
        return text.lstrip("$")
    if level >= _MAX_NAME_LEVELS or node.type in _DESTRUCTURING_TYPES:
        return ""
    for field in _NAME_FIELDS:
        if (child := node.child_by_field_name(field)) is not None:
            return _name_of(child, level + 1)
    children = [each for each in node.named_children if "declarator" in each.type or "identifier" in each.type]
    child = min(children, key=lambda each: "declarator" not in each.type, default=None)
    return _name_of(child, level + 1) if child is not None else ""


def _plain_text(node: tree_sitter.Node) -> str:
    return " ".join((node.text or b"").decode("utf-8", "replace").split())


def _is_callee_end(name: tree_sitter.Node, arguments: tree_sitter.Node) -> bool:
    """Whether an argument list follows a name directly or after type arguments."""
    root_text = arguments.parent.text or b"" if arguments.parent is not None else b""
    start = arguments.parent.start_byte if arguments.parent is not None else 0
    between = root_text[name.end_byte - start : arguments.start_byte - start].decode("utf-8", "replace").strip()
    return not between or between.startswith(_TYPE_ARGUMENT_PREFIXES)


def _arguments_in(arguments: tree_sitter.Node, call: tree_sitter.Node, language: str) -> ArgumentList:
    """Return the arguments in an argument list."""
    has_rest = language in _BLOCK_LANGUAGES and _has_trailing_lambda(call, arguments)
    count, keywords, has_keyword_rest = 0, list[str](), False
    prefixes = ("...", *_UNPACKING_PREFIXES.get(language, ()))
    items = _split_at_commas(arguments.children)
    for nodes in items:
        text = _text_of(nodes)
        if text.startswith("**"):
            has_keyword_rest = True
        elif text.startswith(prefixes) or text.endswith("...") or nodes[0].type.endswith("splat"):
            has_rest = True
        elif keyword := _keyword_of(text, language):
            keywords.append(keyword)
        else:
            count += 1
    is_multiple = language == "go" and len(items) == 1 and items[0][0].type == "call_expression"
    return ArgumentList(count, tuple(keywords), has_rest or is_multiple, has_keyword_rest)


def _keyword_of(text: str, language: str) -> str:
    """Return the name of a named argument, or an empty string for a positional one."""
    sign = KEYWORD_SIGNS.get(language, "")
    name, found, value = text.partition(sign) if sign else ("", "", "")
    return name.strip() if found and name.strip().isidentifier() and not value.startswith(("=", ">", "~", ":")) else ""


def _has_trailing_lambda(call: tree_sitter.Node, arguments: tree_sitter.Node) -> bool:
    """Whether a block or lambda, which may be an argument, follows the argument list (Kotlin, Swift, Ruby)."""
    around = [*call.children, *(call.parent.children if call.parent is not None else [])]
    return any(
        "lambda" in each.type or each.type in ("block", "do_block")
        for each in around
        if each.start_byte >= arguments.end_byte
    )
