"""Lower binary and conditional expressions: convert them to type expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript import nodes

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import Walk
    from deltos.domains.graph.typescript.nodes import Term

_LOGICAL_OPERATORS = frozenset(("&&", "||", "??"))
_STRING_NODE_TYPES = ("string", "template_string")


def lower_binary(walk: Walk, node: Node, expected: Term) -> Term:
    """Return the type expression of a binary operation; the result of a logical operation is one of its operands."""
    operator = _operator(node)
    operands = _chain_operands(node, operator if operator in _LOGICAL_OPERATORS else "")
    terms = [walk.lower_expression(operand, expected if operator == "??" else None) for operand in operands]
    if operator == "&&":
        return terms[-1]
    if operator in _LOGICAL_OPERATORS:
        return _one_of(terms)
    is_text = node.children[-1].type in _STRING_NODE_TYPES or node.children[0].type in _STRING_NODE_TYPES
    return nodes.StringTerm() if operator == "+" and is_text else None


def lower_ternary(walk: Walk, node: Node, expected: Term) -> Term:
    """Return the type expression of `a ? b : c`, which is one of two alternatives."""
    parts = [child for child in node.children if child.is_named and child.type != "comment"]
    terms = [walk.lower_expression(part, expected if position else None) for position, part in enumerate(parts)]
    return nodes.OneOf(tuple(terms[1:])) if len(terms) == 3 else None


def _one_of(terms: list[Term]) -> Term:
    """Return a type expression whose alternatives are the given type expressions, without unknown ones."""
    known = [term for term in terms if term is not None]
    return nodes.OneOf(tuple(known)) if len(known) > 1 else known[0] if known else None


def _operator(node: Node) -> str:
    """Return the operator of a binary expression."""
    return next((child.type for child in node.children[1:] if not child.is_named), "")


def _chain_operands(node: Node, operator: str) -> list[Node]:
    """Return the operands of a left-nested chain of one binary operator, or of any operators if `operator` is empty."""
    operands: list[Node] = []
    while node.type == "binary_expression" and (not operator or _operator(node) == operator):
        operands.append(node.children[-1])
        node = node.children[0]
    return [node, *reversed(operands)]
