"""Lower expressions that are called, written or inherited: record each reference with its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.nodes import MemberAccess, Term

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.model import EdgeKind
    from deltos.domains.graph.typescript.lower.walk import Walk


def lower_reference(walk: Walk, node: Node, kind: EdgeKind) -> Term:
    """Record a reference of the given kind to an expression, and return its type expression."""
    node_kind = node.type
    if node_kind == "identifier":
        return walk.lower_name(node, kind)
    if node_kind == "member_expression":
        return lower_member_expression(walk, node, kind)
    return walk.lower_expression(node)


def lower_member_expression(walk: Walk, node: Node, kind: EdgeKind) -> Term:
    """Record a reference of the given kind to the member in `object.name`, and return its type expression."""
    children = node.children
    owner = walk.lower_expression(children[0])
    name_node, source = children[-1], walk.source
    name = source.text[name_node.start_byte : name_node.end_byte] if source.is_ascii else source.name(name_node)
    walk.record_member(name_node, kind, owner, name)
    if owner is None:
        return None
    access = MemberAccess(owner, name)
    return walk.shared.setdefault(access, access)
