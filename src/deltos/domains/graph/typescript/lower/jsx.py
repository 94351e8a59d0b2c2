"""Lower JSX: convert elements to calls of components, and attributes to writes of component properties."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.lower.references import lower_reference
from deltos.domains.graph.typescript.nodes import MemberAccess, ParameterOf, Term

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import ExpressionHandler, Walk


def _lower_element(walk: Walk, node: Node, _expected: Term) -> Term:
    walk.jsx_count += 1
    for child in node.children:
        if child.is_named and child.type != "jsx_text":
            walk.lower_expression(child)
    return None


def _lower_opening(walk: Walk, node: Node, _expected: Term) -> Term:
    walk.jsx_count += 1
    properties: Term = None
    for position, child in enumerate(node.children):
        kind = child.type
        if kind == "jsx_attribute":
            _lower_attribute(walk, child, properties)
        elif kind == "type_arguments":
            walk.lower_type(child)
        elif position == 1 and kind in ("identifier", "member_expression"):
            properties = _lower_component_name(walk, child)
        elif child.is_named:
            walk.lower_expression(child)
    return None


def _lower_component_name(walk: Walk, node: Node) -> Term:
    """Record the call of a component; return the type expression of its properties, or None for HTML elements."""
    if node.type == "identifier" and walk.source.name(node)[:1].islower():
        return None
    component = lower_reference(walk, node, "call")
    return ParameterOf(component, 0) if component is not None else None


def _lower_closing(walk: Walk, node: Node, _expected: Term) -> Term:
    for child in node.children:
        if child.type in ("identifier", "member_expression"):
            _lower_component_name(walk, child)
    return None


def _lower_attribute(walk: Walk, node: Node, properties: Term) -> None:
    name_node = node.children[0]
    wanted: Term = None
    if properties is not None and name_node.type == "property_identifier":
        name = walk.source.name(name_node)
        walk.record_member(name_node, "write", properties, name)
        wanted = MemberAccess(properties, name)
    for child in node.children[1:]:
        if child.type == "jsx_expression":
            for inner in child.children:
                if inner.is_named:
                    walk.lower_expression(inner, wanted)
        elif child.is_named:
            walk.lower_expression(child)


JSX: dict[str, ExpressionHandler] = {
    "jsx_element": _lower_element,
    "jsx_self_closing_element": _lower_opening,
    "jsx_opening_element": _lower_opening,
    "jsx_closing_element": _lower_closing,
    "jsx_fragment": _lower_element,
}
