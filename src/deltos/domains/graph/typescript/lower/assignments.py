"""Lower assignments: record references to their targets, and derive types of variables and members from values.

To lower code is to convert it to the intermediate representation of facts and type expressions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.lower.commonjs import is_export_target, lower_export
from deltos.domains.graph.typescript.lower.functions import FUNCTION_KINDS, lower_function
from deltos.domains.graph.typescript.lower.literals import lower_named_object
from deltos.domains.graph.typescript.lower.patterns import bind_pattern
from deltos.domains.graph.typescript.lower.references import lower_member_expression, lower_reference
from deltos.domains.graph.typescript.lower.walk import ClassFrame, qualified_name

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import Binding, Walk
    from deltos.domains.graph.typescript.nodes import Term

_MAX_ALTERNATIVES = 5  # maximum number of assigned values in a variable's type


def lower_assignment(walk: Walk, node: Node, _expected: Term) -> Term:
    """Return the type expression of `left = right`, which is the type expression of `right`."""
    children = node.children
    left, right = children[-3], children[-1]
    kind = left.type
    if kind == "identifier":
        return _assign_variable(walk, left, right)
    if kind == "member_expression":
        if walk.source.is_javascript:
            return _assign_javascript_member(walk, node, left, right)
        target = lower_member_expression(walk, left, "write")
        return walk.lower_expression(right, target)
    term = walk.lower_expression(right)
    if kind in ("object_pattern", "array_pattern"):
        bind_pattern(walk, left, term, lambda _name, name_node, _term: walk.lower_name(name_node, "write"))
    else:
        walk.lower_expression(left)
    return term


def _assign_variable(walk: Walk, left: Node, right: Node) -> Term:
    """Convert an assignment to a variable. The assigned value may define the variable's type."""
    name = walk.source.name(left)
    if name == "exports" and name not in walk.scopes.values:
        walk.findings.has_chained_exports = True
        return walk.lower_expression(right)
    target = walk.lower_name_at(name, left.start_byte, "write")
    term = walk.lower_expression(right, target)
    binding = walk.scopes.values.get(name)
    if binding in walk.scopes.untyped and term is not None:
        _add_possible_type(walk, binding, term)
    return term


def _add_possible_type(walk: Walk, binding: Binding | None, term: Term) -> None:
    """Add an assigned value to the possible types of a variable that is declared without a type."""
    if type(binding) is int:
        known = walk.scopes.locals[~binding]
        if known is None:
            walk.scopes.set_local(binding, term)
        elif not isinstance(known, nodes.OneOf):
            walk.scopes.set_local(binding, nodes.OneOf((known, term)))
        elif len(known.terms) < _MAX_ALTERNATIVES:
            walk.scopes.set_local(binding, nodes.OneOf((*known.terms, term)))
    elif type(binding) is str:
        walk.findings.assigned.setdefault(binding, []).append(term)


def _assign_javascript_member(walk: Walk, node: Node, left: Node, right: Node) -> Term:
    """Convert a JavaScript assignment to a member, which may declare an export or a member of a class or function."""
    if is_export_target(walk, left):
        return lower_export(walk, node, left, right)
    owner_node, name_node = left.children[0], left.children[-1]
    name = walk.source.name(name_node)
    owner = _expando_owner(walk, owner_node)
    if owner is None or walk.scopes.in_function:
        target = lower_member_expression(walk, left, "write")
        term = _lower_member_value(walk, node, left, right, target)
        if owner_node.type == "this":
            _record_field(walk, name_node, name, term)
        return term
    lower_reference(walk, owner_node, "read")
    return _declare_expando(walk, owner, node, left, right)


def _lower_member_value(walk: Walk, node: Node, left: Node, right: Node, expected: Term) -> Term:
    """Convert a value that code in a function assigns to a member.

    Functions, and methods of an assigned object literal, become symbols.
    """
    frame = walk.scopes.enclosing
    name_node = left.children[-1]
    is_field = left.children[0].type == "this" and frame is not None and frame.assigned is not None
    parts = [part for part in walk.source.name(left).split(".") if part not in ("this", "prototype")]
    if is_field or not parts or not all(map(str.isidentifier, parts)):
        return walk.lower_expression(right, expected)
    owner = qualified_name(walk.scopes.symbol, ".".join(parts))
    if right.type == "object":
        return lower_named_object(walk, right, expected, owner=owner, functions_only=True)
    if right.type not in FUNCTION_KINDS:
        return walk.lower_expression(right, expected)
    key = walk.add_symbol(
        parts[-1], "method", node, at=name_node, body=right.children[-1], owner=owner.rpartition(".")[0]
    )
    with walk.scopes.inside_symbol(key):
        return walk.lower_expression(right, expected)


def _record_field(walk: Walk, name_node: Node, name: str, term: Term) -> None:
    """Record a field that JavaScript code assigns to `this`."""
    frame = walk.scopes.enclosing
    if frame is None or frame.assigned is None or frame.is_static:
        return
    known = frame.assigned.get(name)
    if known is None or (known[1] is None and term is not None):
        frame.assigned[name] = (known[0] if known else name_node, term)


def _expando_owner(walk: Walk, node: Node) -> tuple[str, bool] | None:
    """Return the module variable whose member is assigned, and whether the member belongs to its prototype."""
    if node.type == "identifier":
        binding = walk.scopes.values.get(walk.source.name(node))
        return (binding, False) if type(binding) is str and binding not in walk.findings.imports else None
    if node.type == "member_expression" and walk.source.name(node.children[-1]) == "prototype":
        inner = node.children[0]
        if inner.type == "identifier":
            binding = walk.scopes.values.get(walk.source.name(inner))
            return (binding, True) if type(binding) is str else None
    return None


def _declare_expando(walk: Walk, owner: tuple[str, bool], node: Node, left: Node, right: Node) -> Term:
    """Declare the member that a top-level `Name.member = value` or `Name.prototype.member = value` assigns."""
    binding, is_prototype = owner
    name_node = left.children[-1]
    name = walk.source.name(name_node)
    table = (walk.findings.prototypes if is_prototype else walk.findings.expandos).setdefault(binding, {})
    if name in table or name == "prototype":
        walk.record_member(name_node, "write", nodes.ThisInstance(binding) if is_prototype else binding, name)
        if name == "prototype" and right.type == "object":
            return lower_named_object(walk, right, None, owner=binding, functions_only=True)
        return walk.lower_expression(right)
    is_function = right.type in FUNCTION_KINDS
    kind, body = ("method", right.children[-1]) if is_function else ("variable", None)
    key = walk.add_symbol(name, kind, node, at=name_node, body=body, owner=binding)
    with walk.scopes.inside_symbol(key):
        term: Term
        if is_function:
            term = lower_function(walk, right, frame=ClassFrame(binding, binding, is_static=not is_prototype))
        elif right.type == "object":
            term = lower_named_object(walk, right, None, owner=key)
        else:
            term = walk.lower_expression(right)
    table[name] = nodes.ClassMember(key, nodes.METHOD if is_function else nodes.FIELD, term)
    return term


def lower_augmented_assignment(walk: Walk, node: Node, _expected: Term) -> Term:
    """Return the type expression of `left += right` or `left ??= right`."""
    left, right = node.children[0], node.children[-1]
    target = lower_reference(walk, left, "write")
    term = walk.lower_expression(right, target)
    if node.children[1].type in ("||=", "??=", "&&="):
        return target if term is None else nodes.OneOf((target, term))
    return None


def lower_update(walk: Walk, node: Node, _expected: Term) -> Term:
    """Record the operand of `++x` or `x--` as a write."""
    for child in node.children:
        if child.is_named:
            lower_reference(walk, child, "write")
    return None
