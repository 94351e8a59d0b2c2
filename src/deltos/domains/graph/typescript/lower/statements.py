"""Lower control flow statements: convert their expressions and inner statements."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.lower.annotations import named_children
from deltos.domains.graph.typescript.lower.declarations import DECLARATIONS
from deltos.domains.graph.typescript.lower.functions import object_literal_id
from deltos.domains.graph.typescript.lower.hoisting import HOISTED, NESTING_NODE_TYPES, hoist_block
from deltos.domains.graph.typescript.lower.imports_exports import MODULES
from deltos.domains.graph.typescript.lower.patterns import bind_pattern
from deltos.domains.graph.typescript.nodes import EachItem

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import StatementHandler, Walk

_PUNCTUATION = frozenset("{};")
_MAX_RETURN_TERMS = 8  # maximum number of return values in a function's type expression


def _lower_block(walk: Walk, node: Node) -> None:
    children = node.children
    kinds = [child.type for child in children]
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


def _lower_for(walk: Walk, node: Node) -> None:
    with walk.scopes.name_scope:
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
    subject, *bodies = named_children(node)
    walk.lower_expression(subject)
    with walk.scopes.name_scope:
        cases = [child for body in bodies for child in body.children if child.type.startswith("switch_")]
        hoist_block(walk, [child for case in cases for child in case.children], is_function=False)
        for case in cases:
            _lower_children(walk, case)


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
    "for_statement": _lower_for,
    "for_in_statement": _lower_for_in,
    "return_statement": _lower_return,
    "switch_statement": _lower_switch,
    "catch_clause": _lower_catch,
    **dict.fromkeys(
        (
            "if_statement else_clause while_statement do_statement try_statement finally_clause "
            "labeled_statement expression_statement throw_statement"
        ).split(),
        _lower_children,
    ),
    **dict.fromkeys(
        "break_statement continue_statement empty_statement comment hash_bang_line".split(), lambda _walk, _node: None
    ),
}
