"""References that are used in a particular way: called, written, inherited from."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.facts import MemberUse
from deltos.domains.graph.typescript.nodes import (
    MemberAccess,
    Term,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.model import EdgeKind
    from deltos.domains.graph.typescript.syntax.walk import Walk


def refer(walk: Walk, node: Node, kind: EdgeKind) -> Term:
    """Walk an expression that is used as `kind` says; its term."""
    node_kind = node.type
    if node_kind == "identifier":
        return walk.use(node, kind)
    if node_kind == "member_expression":
        return member(walk, node, kind)
    return walk.expression(node)


def member(walk: Walk, node: Node, kind: EdgeKind) -> Term:
    """Walk `object.name`; its term."""
    children = node.children
    owner = walk.expression(children[0])
    place = children[-1]
    start = place.start_byte
    name = walk.source.text[start : place.end_byte]
    if not walk.source.is_ascii and not name.isascii():
        name = walk.source.name(place)
    walk.found.members.append(MemberUse(bisect_left(walk.source.line_ends, start) + 1, walk.scopes.symbol, kind, name))
    walk.found.owners.append(owner)
    if owner is None:
        return None
    access = MemberAccess(owner, name)
    term = walk.shared.setdefault(access, access)
    if walk.scopes.narrowed:
        return walk.scopes.narrowed.get(term, term)
    return term
