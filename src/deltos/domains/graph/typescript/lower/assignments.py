"""Lower assignments: references to their targets, and the types that they give to variables and members."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.lower.commonjs import export_value, is_export_target
from deltos.domains.graph.typescript.lower.functions import FUNCTION_KINDS, function_term, keyed_name
from deltos.domains.graph.typescript.lower.jsdoc import documented_term
from deltos.domains.graph.typescript.lower.literals import named_object
from deltos.domains.graph.typescript.lower.patterns import bind_pattern
from deltos.domains.graph.typescript.lower.references import lower_member_expression, lower_reference
from deltos.domains.graph.typescript.lower.walk import ClassFrame

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import Binding, Walk
    from deltos.domains.graph.typescript.nodes import Term

_MAX_ALTERNATIVES = 5


def assignment(walk: Walk, node: Node, _expected: Term) -> Term:
    """Return the term for `left = right`, which is the value of the right side."""
    children = node.children
    left, right = children[-3], children[-1]
    kind = left.type
    if kind == "identifier":
        return _assign_variable(walk, left, right)
    if kind == "member_expression":
        if walk.source.is_javascript:
            return _assign_javascript_member(walk, node, left, right)
        target = lower_member_expression(walk, left, "write")
        return walk.expression(right, target)
    if kind == "subscript_expression" and walk.source.is_javascript:
        return _assign_keyed(walk, left, right)
    term = walk.expression(right)
    if kind in ("object_pattern", "array_pattern"):
        bind_pattern(walk, left, term, lambda _name, place, _term: walk.use(place, "write"))
    else:
        walk.expression(left)
    return term


def _assign_variable(walk: Walk, left: Node, right: Node) -> Term:
    """Lower an assignment to a variable, which ends its narrowing and may define its type."""
    name = walk.source.name(left)
    if name == "exports" and name not in walk.scopes.values:
        walk.found.has_chained_exports = True
        return walk.expression(right)
    target = walk.use_name(name, left.start_byte, "write")
    term = walk.expression(right, target)
    binding = walk.scopes.values.get(name)
    if binding in walk.scopes.narrowed:
        walk.scopes.narrowed = {value: known for value, known in walk.scopes.narrowed.items() if value != binding}
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
        walk.found.assigned.setdefault(binding, []).append(term)


def _assign_javascript_member(walk: Walk, node: Node, left: Node, right: Node) -> Term:
    """Lower a JavaScript assignment to a member, which may declare an export or a member of a class or function."""
    if is_export_target(walk, left):
        return export_value(walk, node, left, right)
    documented = documented_term(walk)
    owner_node, place = left.children[0], left.children[-1]
    name = walk.source.name(place)
    if owner_node.type == "this":
        target = lower_member_expression(walk, left, "write")
        term = walk.expression(right, documented or target)
        _note_field(walk, place, name, documented if documented is not None else term)
        return term
    owner = _expando_owner(walk, owner_node)
    if owner is None or walk.scopes.in_function:
        target = lower_member_expression(walk, left, "write")
        return walk.expression(right, documented or target)
    lower_reference(walk, owner_node, "read")
    return _declare_expando(walk, owner, left, right, documented)


def _assign_keyed(walk: Walk, left: Node, right: Node) -> Term:
    """Lower `this[key] = value`, where the key is a constant in the module."""
    walk.expression(left)
    term = walk.expression(right)
    place = left.children[-2]
    if left.children[0].type == "this" and (name := keyed_name(walk, place)):
        _note_field(walk, place, name, term)
    return term


def _note_field(walk: Walk, place: Node, name: str, term: Term) -> None:
    """Record a field that JavaScript code assigns to `this`."""
    frame = walk.scopes.enclosing
    if frame is None or frame.assigned is None or frame.static:
        return
    known = frame.assigned.get(name)
    if known is None or (known[1] is None and term is not None):
        frame.assigned[name] = (known[0] if known else place, term)


def _expando_owner(walk: Walk, node: Node) -> tuple[str, bool] | None:
    """Return the module variable whose member is assigned, and whether the target is its prototype."""
    if node.type == "identifier":
        binding = walk.scopes.values.get(walk.source.name(node))
        return (binding, False) if type(binding) is str and binding not in walk.found.imports else None
    if node.type == "member_expression" and walk.source.name(node.children[-1]) == "prototype":
        inner = node.children[0]
        if inner.type == "identifier":
            binding = walk.scopes.values.get(walk.source.name(inner))
            return (binding, True) if type(binding) is str else None
    return None


def _declare_expando(walk: Walk, owner: tuple[str, bool], left: Node, right: Node, documented: Term) -> Term:
    """Declare the member of a top-level `Name.member = value` or `Name.prototype.member = value`."""
    binding, is_prototype = owner
    place = left.children[-1]
    name = walk.source.name(place)
    table = (walk.found.prototypes if is_prototype else walk.found.expandos).setdefault(binding, {})
    if name in table or name == "prototype":
        walk.use_member(place, "write", nodes.ThisInstance(binding) if is_prototype else binding, name)
        return walk.expression(right, documented)
    is_function = right.type in FUNCTION_KINDS
    key = walk.add_symbol(name, "method" if is_function else "variable", left, at=place, owner=binding)
    with walk.scopes.inside(key):
        term: Term
        if is_function:
            term = function_term(walk, right, documented, frame=ClassFrame(binding, binding, static=not is_prototype))
        elif right.type == "object":
            term = named_object(walk, right, documented, owner=key)
        else:
            term = walk.expression(right, documented)
    stated = documented if documented is not None and not is_function else term
    table[name] = nodes.ClassMember(key, nodes.METHOD if is_function else nodes.FIELD, stated)
    return term


def augmented_assignment(walk: Walk, node: Node, _expected: Term) -> Term:
    """Return the term for `left += right` or `left ??= right`."""
    left, right = node.children[0], node.children[-1]
    target = lower_reference(walk, left, "write")
    term = walk.expression(right, target)
    if node.children[1].type in ("||=", "??=", "&&="):
        return target if term is None else nodes.OneOf((target, term))
    return None


def update(walk: Walk, node: Node, _expected: Term) -> Term:
    """Record the operand of `++x` or `x--` as a write."""
    for child in node.children:
        if child.is_named:
            lower_reference(walk, child, "write")
    return None
