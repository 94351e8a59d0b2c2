"""Lower object and array literals: convert them to type expressions and record their references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.lower.functions import FUNCTION_KINDS, accessor_type, lower_function, member_name
from deltos.domains.graph.typescript.lower.walk import ClassFrame

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import Walk
    from deltos.domains.graph.typescript.nodes import Term

_MAX_ELEMENT_TERMS = 8  # maximum number of array elements in a type expression
_MAX_SYMBOL_DEPTH = 3  # maximum number of dots in the symbol key of an object whose members become symbols
_MAX_MEMBER_SYMBOLS = 400  # maximum number of members that become symbols
_CONTEXTUALLY_TYPED_NODES = FUNCTION_KINDS | {"object", "array", "parenthesized_expression", "ternary_expression"}
_PRIMITIVE_LITERALS = frozenset(("number", "true", "false", "null", "undefined", "regex"))


def lower_object_literal(walk: Walk, node: Node, expected: Term) -> Term:
    """Convert an anonymous object literal to a type expression.

    Functions in the object become symbols of the enclosing variable, as in `const store = createStore({ load() {} })`,
    or of the function that returns the object.
    """
    scopes = walk.scopes
    is_module_level = not scopes.in_function and not scopes.in_literal
    defines_members = is_module_level or scopes.routine.returned_object == node.id
    owner = scopes.symbol if scopes.symbol and defines_members else None
    return lower_named_object(walk, node, expected, owner=owner, functions_only=True)


def lower_named_object(
    walk: Walk,
    node: Node,
    expected: Term,
    *,
    owner: str | None,
    functions_only: bool = False,
    is_exported: bool = False,
) -> Term:
    """Convert an object literal to a type expression.

    If `owner` is given, the members (or only the functions) become symbols of the owner. If the object is exported, its
    shorthand members are re-exports: `export default { load }` is like `export { load }`.
    """
    if owner is not None and (owner.count(".") >= _MAX_SYMBOL_DEPTH or len(node.children) > 2 * _MAX_MEMBER_SYMBOLS):
        owner = None
    members: list[nodes.ObjectMember] = []
    spreads: list[Term] = []
    local = walk.scopes.add_local()
    for child in node.children:
        kind = child.type
        if kind == "pair":
            _lower_pair(walk, child, expected, owner, members, functions_only=functions_only)
        elif kind == "shorthand_property_identifier":
            if not (is_exported and _add_reexport(walk, child, members)):
                _lower_shorthand(walk, child, expected, None if functions_only else owner, members)
        elif kind == "method_definition":
            _lower_method(walk, child, expected, owner, members, local)
        elif kind == "spread_element":
            spreads.append(walk.lower_expression(child.children[-1]))
        elif kind == "comment":
            walk.comment = child
    term = nodes.ObjectTerm(tuple(members), tuple(spreads))
    walk.scopes.set_local(local, term)
    return term


def _record_expected_member(walk: Walk, name_node: Node, name: str, expected: Term) -> Term:
    """Record a key as a write to a member of the expected type, and return the expected type of the key's value."""
    if expected is None or expected is nodes.ANY or not name:
        return None
    walk.record_member(name_node, "write", expected, name)
    return nodes.MemberAccess(expected, name)


def _lower_pair(
    walk: Walk,
    node: Node,
    expected: Term,
    owner: str | None,
    members: list[nodes.ObjectMember],
    *,
    functions_only: bool,
) -> None:
    """Convert `key: value` in an object literal."""
    name_node, value = node.children[0], node.children[-1]
    name = member_name(walk, name_node)
    wanted = _record_expected_member(walk, name_node, name, expected)
    kind = value.type
    if owner is not None and functions_only and name and kind == "object":
        inner = lower_named_object(walk, value, wanted, owner=f"{owner}.{name}", functions_only=True)
        members.append(nodes.ObjectMember(name, inner, None, is_optional=False))
        return
    if owner is None or not name or (functions_only and kind not in FUNCTION_KINDS):
        if kind in _PRIMITIVE_LITERALS:
            members.append(nodes.ObjectMember(name, None, None, is_optional=False))
            return
        with walk.scopes.inside_literal():
            term = walk.lower_expression(value, wanted if kind in _CONTEXTUALLY_TYPED_NODES else None)
        members.append(nodes.ObjectMember(name, term, None, is_optional=False))
        return
    is_function = kind in FUNCTION_KINDS
    key = walk.add_symbol(name, "method" if is_function else "variable", node, at=name_node, owner=owner)
    with walk.scopes.inside_symbol(key):
        if kind == "object":
            term = lower_named_object(walk, value, wanted, owner=key)
        else:
            with walk.component_scope(key, name if is_function else ""):
                term = walk.lower_expression(value, wanted)
    members.append(nodes.ObjectMember(name, term, key, is_optional=False))


def _add_reexport(walk: Walk, node: Node, members: list[nodes.ObjectMember]) -> bool:
    """Add a member if it re-exports a declaration of the module under the same name. Return whether it was added."""
    name = walk.source.name(node)
    if not isinstance(walk.scopes.values.get(name), str):
        return False
    with walk.scopes.inside_symbol(""):
        term = walk.lower_name(node, "read")
    members.append(nodes.ObjectMember(name, term, nodes.REEXPORTED, is_optional=False))
    return True


def _lower_shorthand(
    walk: Walk, node: Node, expected: Term, owner: str | None, members: list[nodes.ObjectMember]
) -> None:
    """Convert a shorthand property of an object literal."""
    name = walk.source.name(node)
    if expected is not None and expected is not nodes.ANY:
        walk.record_member(node, "write", expected, name)
    key = walk.add_symbol(name, "variable", node, owner=owner) if owner is not None else None
    members.append(nodes.ObjectMember(name, walk.lower_name(node, "read"), key, is_optional=False))


def _lower_method(
    walk: Walk, node: Node, expected: Term, owner: str | None, members: list[nodes.ObjectMember], local: int
) -> None:
    """Convert a method or accessor of an object literal."""
    children = node.children
    name_node = next(
        (child for child in children if child.type.endswith(("identifier", "property_name", "string", "number"))), None
    )
    name = member_name(walk, name_node) if name_node is not None else ""
    wanted = _record_expected_member(walk, name_node, name, expected) if name_node is not None else None
    key = None
    if owner is not None and name:
        key = walk.add_symbol(name, "method", node, at=name_node, owner=owner, body=children[-1])
    with walk.scopes.inside_symbol(key or walk.scopes.symbol):
        function = lower_function(walk, node, wanted, frame=ClassFrame(local, ""))
    term: Term = function
    if children[0].type in ("get", "set"):
        term = accessor_type(function, is_getter=children[0].type == "get")
    if name:
        members.append(nodes.ObjectMember(name, term, key, is_optional=False))


def lower_array_literal(walk: Walk, node: Node, expected: Term) -> Term:
    """Convert an array literal, and return the type expression of its first elements."""
    wanted = nodes.EachItem(expected) if expected is not None else None
    terms: list[Term] = []
    for child in node.children:
        kind = child.type
        if kind in _PRIMITIVE_LITERALS:
            terms.append(None)
        elif kind == "spread_element":
            terms.append(nodes.Spread(walk.lower_expression(child.children[-1])))
        elif child.is_named and kind != "comment":
            with walk.scopes.inside_literal():
                terms.append(walk.lower_expression(child, wanted))
    return nodes.ArrayLiteral(tuple(terms[:_MAX_ELEMENT_TERMS]))
