"""Lower destructuring patterns: bind each name in a pattern to the corresponding part of the value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.lower.walk import MAX_DEPTH
from deltos.domains.graph.typescript.nodes import ItemAt, MemberAccess, OneOf, Term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import Walk

    Receive = Callable[[str, Node, Term], object]


def pattern_names(walk: Walk, node: Node) -> Iterator[str]:
    """Yield every name that a pattern declares."""
    stack = [node]
    while stack:
        node = stack.pop()
        kind = node.type
        if kind in ("identifier", "shorthand_property_identifier_pattern"):
            yield walk.source.name(node)
        elif kind == "pair_pattern":
            stack.append(node.children[-1])
        elif kind in ("assignment_pattern", "object_assignment_pattern"):
            stack.append(node.children[0])
        elif kind in ("object_pattern", "array_pattern", "rest_pattern"):
            stack.extend(node.children)


def bind_pattern(walk: Walk, node: Node, term: Term, receive: Receive) -> None:
    """Call `receive` for every name in a pattern, with the name's node and the type expression of its value."""
    if walk.depth > MAX_DEPTH:
        walk.record_plain_names(node)
        return
    walk.depth += 1
    _bind_destructuring(walk, node, term, receive)
    walk.depth -= 1


def _bind_destructuring(walk: Walk, node: Node, term: Term, receive: Receive) -> None:
    kind = node.type
    if kind in ("identifier", "shorthand_property_identifier_pattern"):
        receive(walk.source.name(node), node, term)
    elif kind == "object_pattern":
        for child in node.children:
            if child.is_named:
                _bind_object_part(walk, child, term, receive)
    elif kind == "array_pattern":
        _bind_array_parts(walk, node, term, receive)
    elif kind == "assignment_pattern":
        bind_pattern(walk, node.children[0], _value_or_default(walk, term, node.children[-1]), receive)
    elif kind == "rest_pattern":
        bind_pattern(walk, node.children[-1], term, receive)
    else:
        walk.lower_expression(node)


def _value_or_default(walk: Walk, term: Term, default: Node) -> Term:
    """Return the type expression of a value that may be replaced by a default."""
    value = walk.lower_expression(default, term)
    if term is None or value is None:
        return value if term is None else term
    return walk.scopes.reusable(OneOf((term, value)))


def _bind_object_part(walk: Walk, node: Node, term: Term, receive: Receive) -> None:
    kind = node.type
    if kind == "shorthand_property_identifier_pattern":
        receive(walk.source.name(node), node, _member_term(walk, node, term))
    elif kind == "pair_pattern":
        bind_pattern(walk, node.children[-1], _member_term(walk, node.children[0], term), receive)
    elif kind == "object_assignment_pattern":
        name = node.children[0]
        receive(
            walk.source.name(name), name, _value_or_default(walk, _member_term(walk, name, term), node.children[-1])
        )
    elif kind == "rest_pattern":
        bind_pattern(walk, node.children[-1], term, receive)


def _member_term(walk: Walk, key: Node, term: Term) -> Term:
    """Record the member reference of a key in an object pattern, and return the member's type expression."""
    kind = key.type
    if kind == "computed_property_name":
        walk.lower_expression(key.children[1])
        return None
    name = walk.source.name(key)
    if kind == "string":
        name = name[1:-1]
    walk.record_member(key, "read", term, name)
    return MemberAccess(term, name) if term is not None else None


def _bind_array_parts(walk: Walk, node: Node, term: Term, receive: Receive) -> None:
    position = 0
    for child in node.children:
        if child.type == ",":
            position += 1
        elif child.is_named and child.type == "rest_pattern":
            bind_pattern(walk, child, term, receive)
        elif child.is_named:
            bind_pattern(walk, child, ItemAt(term, position) if term is not None else None, receive)
