"""Lower conditions: convert them to type expressions and to facts about the tested values."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.lower.walk import MAX_DEPTH

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import Walk
    from deltos.domains.graph.typescript.nodes import Term

# Each fact: tested value, guard, and whether the guard succeeded
Facts: TypeAlias = "list[tuple[Term, nodes.Guard, bool]]"
_EQUALITY_OPERATORS = frozenset(("===", "=="))
_INEQUALITY_OPERATORS = frozenset(("!==", "!="))


class TestedCondition:
    """Type expression of a condition, and the facts that hold if the condition is true (`yes`) or false (`no`)."""

    __slots__ = ("no", "term", "yes")

    def __init__(self, term: Term, yes: Facts | None = None, no: Facts | None = None) -> None:
        self.term = term
        self.yes: Facts = yes or []
        self.no: Facts = no or []


def apply_facts(walk: Walk, facts: Facts) -> None:
    """Narrow the types of values by facts in the following code; the caller restores `walk.scopes.narrowed`."""
    if facts:
        walk.scopes.narrowed = dict(walk.scopes.narrowed)
        for value, guard, held in facts:
            walk.scopes.narrow(value, guard, held=held)


def lower_condition(walk: Walk, node: Node) -> TestedCondition:
    """Convert a condition to a type expression and facts."""
    if walk.depth > MAX_DEPTH:
        return TestedCondition(walk.lower_expression(node))
    walk.depth += 1
    tested = _lower_test(walk, node)
    walk.depth -= 1
    return tested


def _lower_test(walk: Walk, node: Node) -> TestedCondition:
    kind = node.type
    if kind == "parenthesized_expression":
        inner = [child for child in node.children if child.is_named and child.type != "comment"]
        return lower_condition(walk, inner[0]) if len(inner) == 1 else TestedCondition(walk.lower_expression(node))
    if kind == "unary_expression" and node.children[0].type == "!":
        tested = lower_condition(walk, node.children[-1])
        return TestedCondition(None, tested.no, tested.yes)
    if kind == "binary_expression":
        return _lower_binary_test(walk, node)
    term = walk.lower_expression(node)
    if kind == "call_expression" and isinstance(term, nodes.CallTerm):
        return _guarded_condition(_guard_calls(term), term)
    return TestedCondition(term)


def _guarded_condition(
    guards: list[tuple[Term, nodes.Guard]], term: Term = None, *, held: bool = True
) -> TestedCondition:
    """Return a condition whose guards hold if the condition is true or, with `held=False`, if it is false."""
    yes = [(value, guard, held) for value, guard in guards]
    return TestedCondition(term, yes, [(value, guard, not held) for value, guard in guards])


def _guard_calls(call: nodes.CallTerm) -> list[tuple[Term, nodes.Guard]]:
    """Return the values that a call may narrow if it is a type guard: its arguments and the method's receiver."""
    guards: list[tuple[Term, nodes.Guard]] = []
    for position, argument in enumerate(call.arguments):
        value = _without_guards(argument)
        if isinstance(value, int | str | nodes.MemberAccess | nodes.ThisInstance):
            guards.append((value, nodes.GuardCall(call.callee, position)))
    if isinstance(call.callee, nodes.MemberAccess):
        guards.append((_without_guards(call.callee.owner), nodes.GuardCall(call.callee, None)))
    return guards


def _without_guards(term: Term) -> Term:
    """Return a value's type expression without the guards that narrow it."""
    while isinstance(term, nodes.Narrowed):
        term = term.value
    return term


def _lower_binary_test(walk: Walk, node: Node) -> TestedCondition:
    operator = _operator(node)
    if operator == "&&":
        return _lower_and(walk, node)
    if operator == "||":
        return _lower_or(walk, node)
    left = walk.lower_expression(node.children[0])
    right = walk.lower_expression(node.children[-1])
    return _comparison_condition(left, operator, right)


def _operator(node: Node) -> str:
    """Return the operator of a binary expression."""
    return next((child.type for child in node.children[1:] if not child.is_named), "")


def _chain_operands(node: Node, operator: str = "") -> list[Node]:
    """Return the operands of a left-nested chain of one binary operator or, if `operator` is None, of any operators."""
    operands: list[Node] = []
    while node.type == "binary_expression" and (not operator or _operator(node) == operator):
        operands.append(node.children[-1])
        node = node.children[0]
    return [node, *reversed(operands)]


def _lower_and(walk: Walk, node: Node) -> TestedCondition:
    """Convert `a && b`. Each operand is converted with the facts established by the previous operands."""
    with walk.scopes.branch:
        known: Facts = []
        term: Term = None
        for operand in _chain_operands(node, "&&"):
            tested = lower_condition(walk, operand)
            known += tested.yes
            apply_facts(walk, tested.yes)
            term = tested.term
    return TestedCondition(term, known, [])


def _lower_or(walk: Walk, node: Node) -> TestedCondition:
    """Convert `a || b`. Each operand is converted with the facts that hold if the previous operands are false."""
    with walk.scopes.branch:
        refuted: Facts = []
        terms: list[Term] = []
        for operand in _chain_operands(node, "||"):
            tested = lower_condition(walk, operand)
            refuted += tested.no
            apply_facts(walk, tested.no)
            if tested.term is not None:
                terms.append(tested.term)
    term = nodes.OneOf(tuple(terms)) if len(terms) > 1 else terms[0] if terms else None
    return TestedCondition(term, [], refuted)


def _comparison_condition(left: Term, operator: str, right: Term) -> TestedCondition:
    """Return the condition of a comparison, with the facts that the comparison establishes."""
    if operator == "instanceof":
        return _guarded_condition([(_without_guards(left), nodes.InstanceOf(right))] if left is not None else [])
    if operator == "in" and isinstance(left, nodes.StringTerm) and right is not None:
        return _guarded_condition([(_without_guards(right), nodes.HasMember(left.value))])
    if operator in _EQUALITY_OPERATORS or operator in _INEQUALITY_OPERATORS:
        return _guarded_condition(_equality_guards(left, right), held=operator in _EQUALITY_OPERATORS)
    return TestedCondition(None)


def _equality_guards(left: Term, right: Term) -> list[tuple[Term, nodes.Guard]]:
    if isinstance(left, nodes.TypeOf) and isinstance(right, nodes.StringTerm):
        return [(_without_guards(left.value), nodes.HasPrimitiveType(right.value))]
    if isinstance(left, nodes.MemberAccess) and isinstance(right, nodes.StringTerm | nodes.MemberAccess):
        return [(_without_guards(left.owner), nodes.HasValue(left.name, right))]
    return []


def lower_binary(walk: Walk, node: Node, expected: Term) -> Term:
    """Return the type expression of a binary operation; the result of a logical operation is one of its operands."""
    operator = _operator(node)
    if operator == "&&":
        return _lower_and(walk, node).term
    if operator == "||":
        return _lower_or(walk, node).term
    if operator == "??":
        terms = [walk.lower_expression(operand, expected) for operand in _chain_operands(node, "??")]
        return nodes.OneOf(tuple(terms))
    if operator == "instanceof":
        walk.lower_expression(node.children[0])
        walk.lower_expression(node.children[-1])
        return None
    for operand in _chain_operands(node):
        walk.lower_expression(operand)
    return nodes.StringTerm() if operator == "+" and _has_string_operand(node) else None


def _has_string_operand(node: Node) -> bool:
    return node.children[-1].type in ("string", "template_string") or node.children[0].type in (
        "string",
        "template_string",
    )


def lower_ternary(walk: Walk, node: Node, expected: Term) -> Term:
    """Return the type expression of `a ? b : c`, which is one of two alternatives."""
    parts = [child for child in node.children if child.is_named and child.type != "comment"]
    if len(parts) != 3:
        for part in parts:
            walk.lower_expression(part)
        return None
    condition, yes_part, no_part = parts
    tested = lower_condition(walk, condition)
    with walk.scopes.branch:
        apply_facts(walk, tested.yes)
        yes = walk.lower_expression(yes_part, expected)
    with walk.scopes.branch:
        apply_facts(walk, tested.no)
        no = walk.lower_expression(no_part, expected)
    return nodes.OneOf((yes, no))
