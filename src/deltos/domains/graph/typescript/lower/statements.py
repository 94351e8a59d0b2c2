"""Lower control flow statements. Each branch is converted with the facts that its condition establishes."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.lower.annotations import named_children
from deltos.domains.graph.typescript.lower.conditions import apply_facts, lower_condition
from deltos.domains.graph.typescript.lower.declarations import DECLARATIONS
from deltos.domains.graph.typescript.lower.functions import object_literal_id
from deltos.domains.graph.typescript.lower.hoisting import HOISTED, NESTING_NODE_TYPES, hoist_block
from deltos.domains.graph.typescript.lower.imports_exports import MODULES
from deltos.domains.graph.typescript.lower.patterns import bind_pattern
from deltos.domains.graph.typescript.nodes import EachItem, HasValue, MemberAccess, Term

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import StatementHandler, Walk

_MAX_RETURN_TERMS = 8  # maximum number of return values in a function's type expression
_EXIT_NODE_TYPES = frozenset(("return_statement", "throw_statement", "continue_statement", "break_statement"))


def _lower_block(walk: Walk, node: Node) -> None:
    children = node.children
    kinds = [child.type for child in children]
    with walk.scopes.branch:
        scoped = walk.source.has_var or not HOISTED.isdisjoint(kinds)
        with walk.scopes.name_scope if scoped else nullcontext():
            if scoped:
                hoist_block(
                    walk, children, is_function=node.parent is not None and node.parent.type not in NESTING_NODE_TYPES
                )
            for child, kind in zip(children, kinds, strict=True):
                if kind == "comment":
                    walk.comment = child
                elif kind not in _PUNCTUATION:
                    walk.lower_statement(child)
                    walk.comment = None


_PUNCTUATION = frozenset("{};")


def _exits(node: Node) -> bool:
    """Whether control flow never reaches the end of a statement."""
    if node.type in _EXIT_NODE_TYPES:
        return True
    if node.type != "statement_block":
        return False
    last = next((child for child in reversed(node.children) if child.is_named and child.type != "comment"), None)
    return last is not None and last.type in _EXIT_NODE_TYPES


def _lower_if(walk: Walk, node: Node) -> None:
    parts = named_children(node)
    if len(parts) < 2:
        for part in parts:
            walk.lower_statement(part)
        return
    tested = lower_condition(walk, parts[0])
    with walk.scopes.branch:
        apply_facts(walk, tested.yes)
        walk.lower_statement(parts[1])
    for part in parts[2:]:
        with walk.scopes.branch:
            apply_facts(walk, tested.no)
            walk.lower_statement(part)
        if _exits(part.children[-1]):
            apply_facts(walk, tested.yes)
    if _exits(parts[1]):
        apply_facts(walk, tested.no)


def _lower_while(walk: Walk, node: Node) -> None:
    parts = named_children(node)
    if not parts:
        return
    tested = lower_condition(walk, parts[0])
    with walk.scopes.branch:
        apply_facts(walk, tested.yes)
        for part in parts[1:]:
            walk.lower_statement(part)


def _lower_for(walk: Walk, node: Node) -> None:
    with walk.scopes.name_scope, walk.scopes.branch:
        hoist_block(walk, node.children, is_function=False)
        for child in node.children:
            if child.is_named:
                walk.lower_statement(child)


def _lower_for_in(walk: Walk, node: Node) -> None:
    children = node.children
    operator = next((place for place, child in enumerate(children) if child.type in ("of", "in") and place > 2), -1)
    if operator < 0 or operator + 1 >= len(children):
        for child in children:
            if child.is_named:
                walk.lower_statement(child)
        return
    source = walk.lower_expression(children[operator + 1])
    term = EachItem(source) if source is not None and children[operator].type == "of" else None
    with walk.scopes.name_scope:
        target = children[operator - 1]
        if any(child.type in ("const", "let", "var", "using") for child in children[: operator - 1]):
            bind_pattern(walk, target, term, lambda name, _place, part: walk.scopes.bind_local(name, part))
        else:
            bind_pattern(walk, target, term, lambda _name, place, _part: walk.lower_name(place, "write"))
        for child in children[operator + 2 :]:
            if child.is_named:
                walk.lower_statement(child)


def _lower_return(walk: Walk, node: Node) -> None:
    routine = walk.scopes.routine
    for child in named_children(node):
        if routine.expected is None:
            routine.returned_object = object_literal_id(child)
        term = walk.lower_expression(child, routine.expected)
        if term is not None and len(routine.returns) < _MAX_RETURN_TERMS:
            routine.returns.append(term)


def _lower_switch(walk: Walk, node: Node) -> None:
    parts = named_children(node)
    subject = walk.lower_expression(parts[0]) if parts else None
    if len(parts) < 2:
        return
    with walk.scopes.name_scope:
        cases = [child for child in parts[1].children if child.type in ("switch_case", "switch_default")]
        hoist_block(walk, [child for case in cases for child in case.children], is_function=False)
        fell_through = False
        for case in cases:
            fell_through = _lower_case(walk, case, subject, fell_through=fell_through)


def _lower_case(walk: Walk, node: Node, subject: Term, *, fell_through: bool) -> bool:
    """Convert one case of a `switch`, and return whether control continues in the next case."""
    with walk.scopes.branch:
        body = named_children(node)
        if node.type == "switch_case" and body:
            value = walk.lower_expression(body.pop(0))
            if not fell_through and isinstance(subject, MemberAccess) and value is not None:
                apply_facts(walk, [(subject.owner, HasValue(subject.name, value), True)])
        for child in body:
            walk.lower_statement(child)
    return not body or not _exits(body[-1])


def _lower_catch(walk: Walk, node: Node) -> None:
    with walk.scopes.name_scope:
        for child in node.children:
            if child.type in ("identifier", "object_pattern", "array_pattern"):
                bind_pattern(walk, child, None, lambda name, _place, _part: walk.scopes.bind_local(name))
            elif child.type == "type_annotation":
                walk.lower_type(child)
            elif child.is_named:
                walk.lower_statement(child)


def _lower_children(walk: Walk, node: Node) -> None:
    for child in named_children(node):
        walk.lower_statement(child)


STATEMENTS: dict[str, StatementHandler] = {
    **DECLARATIONS,
    **MODULES,
    "statement_block": _lower_block,
    "if_statement": _lower_if,
    "while_statement": _lower_while,
    "for_statement": _lower_for,
    "for_in_statement": _lower_for_in,
    "return_statement": _lower_return,
    "switch_statement": _lower_switch,
    "catch_clause": _lower_catch,
    **dict.fromkeys(
        (
            "else_clause do_statement try_statement finally_clause labeled_statement expression_statement "
            "throw_statement"
        ).split(),
        _lower_children,
    ),
    **dict.fromkeys(
        "break_statement continue_statement empty_statement comment hash_bang_line".split(), lambda _walk, _node: None
    ),
}
