"""Hoist declarations: bind declared names before the statements are converted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.lower.patterns import pattern_names
from deltos.domains.graph.typescript.lower.walk import qualified_name
from deltos.domains.graph.typescript.nodes import AS_TYPE, AS_VALUE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import Walk

    Bind = Callable[[str, int], object]  # receives a declared name, and whether the name is a value, a type or both

FUNCTIONS = frozenset(("function_declaration", "generator_function_declaration", "function_signature"))
CLASSES = frozenset(("class_declaration", "abstract_class_declaration"))
VARIABLES = frozenset(("lexical_declaration", "variable_declaration"))
TYPES = frozenset(("interface_declaration", "type_alias_declaration"))
HOISTED = FUNCTIONS | CLASSES | VARIABLES | TYPES | {"enum_declaration"}
_DECLARATION_WRAPPERS = frozenset(("export_statement", "ambient_declaration", "expression_statement"))
_HOISTED_BY_MODULES = HOISTED | {
    "export_statement",
    "ambient_declaration",
    "expression_statement",
    "module",
    "internal_module",
    "import_alias",
}
NESTING_NODE_TYPES = frozenset(
    (
        "if_statement else_clause for_statement for_in_statement while_statement do_statement try_statement "
        "catch_clause finally_clause statement_block switch_statement switch_body switch_case switch_default "
        "labeled_statement"
    ).split()
)


def hoist_module(walk: Walk, nodes: Iterable[Node], container: str = "") -> None:
    """Bind each name that a module or namespace declares to its qualified (dotted) name."""
    prefix = f"{container}." if container else ""

    def bind(name: str, meaning: int) -> None:
        if meaning & AS_VALUE:
            walk.scopes.bind_value(name, prefix + name)
        if meaning & AS_TYPE:
            walk.scopes.bind_type(name, prefix + name)

    _hoist_all(walk, nodes, bind, with_vars=True)


def hoist_block(walk: Walk, nodes: Iterable[Node], *, is_function: bool) -> None:
    """Bind the names that a block declares to new local variables and types."""

    def bind(name: str, meaning: int) -> None:
        local = walk.scopes.add_local()
        if meaning & AS_VALUE:
            walk.scopes.bind_value(name, local)
        if meaning & AS_TYPE:
            walk.scopes.bind_type(name, local)

    _hoist_all(walk, nodes, bind, with_vars=is_function)


def declared_names(walk: Walk, node: Node) -> list[str]:
    """Return the names that a statement declares, even if it begins with `export` or `declare`."""
    names: list[str] = []
    for declared in _declarations(node):
        _hoist(walk, declared, lambda name, _meaning: names.append(name))
    return names


def _hoist_all(walk: Walk, nodes: Iterable[Node], bind: Bind, *, with_vars: bool) -> None:
    for node in nodes:
        for declared in _declarations(node):
            _hoist(walk, declared, bind)
    if with_vars and walk.source.has_var:
        _hoist_vars(walk, nodes, bind)


def _declarations(node: Node) -> Iterator[Node]:
    """Yield the declarations inside `export` and `declare` statements, or the node itself for other statements."""
    pending = [node]
    while pending:
        inner = pending.pop()
        if inner.type not in _DECLARATION_WRAPPERS:
            yield inner
            continue
        pending += [
            child
            for child in reversed(inner.children)
            if child.type in _HOISTED_BY_MODULES and child.type != "expression_statement"
        ]


def _hoist(walk: Walk, node: Node, bind: Bind) -> None:
    """Bind the names in a declaration as values, types or both."""
    kind = node.type
    if kind in VARIABLES:
        for name in _variable_names(walk, node):
            bind(name, AS_VALUE)
    elif kind in FUNCTIONS:
        name = _declared_name(walk, node)
        bind(name, AS_VALUE)
        walk.scopes.expect_function(name)
        if kind != "function_signature":
            walk.implemented.add(qualified_name(walk.scopes.symbol, name))
    elif kind in CLASSES or kind == "enum_declaration":
        bind(_declared_name(walk, node), AS_VALUE | AS_TYPE)
    elif kind in TYPES:
        bind(_declared_name(walk, node), AS_TYPE)
    elif kind in ("internal_module", "module"):
        name_node = node.child_by_field_name("name")
        if name_node is not None and name_node.type != "string":
            bind(walk.source.name(name_node).partition(".")[0], AS_VALUE | AS_TYPE)
    elif kind == "import_alias":
        bind(walk.source.name(node.children[1]), AS_VALUE | AS_TYPE)


def _declared_name(walk: Walk, node: Node) -> str:
    for child in node.children:
        if child.type in ("identifier", "type_identifier"):
            return walk.source.name(child)
    return ""


def _variable_names(walk: Walk, node: Node) -> Iterable[str]:
    for child in node.children:
        if child.type == "variable_declarator":
            target = child.children[0]
            if target.type == "identifier":
                yield walk.source.name(target)
            else:
                yield from pattern_names(walk, target)


def _hoist_vars(walk: Walk, nodes: Iterable[Node], bind: Bind) -> None:
    """Bind the `var` variables declared in nested blocks, which belong to the enclosing function."""
    known = walk.scopes.names_in_function()
    stack = [node for node in nodes if node.type in NESTING_NODE_TYPES]
    while stack:
        node = stack.pop()
        kind = node.type
        if kind == "variable_declaration":
            for name in _variable_names(walk, node):
                if name not in known:
                    known.add(name)
                    bind(name, AS_VALUE)
        elif kind in NESTING_NODE_TYPES:
            if kind == "for_in_statement":
                known.update(_hoist_loop_variable(walk, node, bind))
            stack.extend(node.children)


def _hoist_loop_variable(walk: Walk, node: Node, bind: Bind) -> list[str]:
    """Bind the `var` variables of a loop and return their names."""
    children = node.children
    found: list[str] = []
    for position, child in enumerate(children[:-1]):
        if child.type == "var":
            found += pattern_names(walk, children[position + 1])
    for name in found:
        bind(name, AS_VALUE)
    return found
