"""Lower expressions: record their references and convert them to type expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.facts import ImportLink, ImportSite
from deltos.domains.graph.typescript.lower.annotations import lower_type_arguments, operands, this_term
from deltos.domains.graph.typescript.lower.assignments import lower_assignment, lower_augmented_assignment, lower_update
from deltos.domains.graph.typescript.lower.classes import lower_class
from deltos.domains.graph.typescript.lower.conditions import lower_binary, lower_ternary
from deltos.domains.graph.typescript.lower.functions import FUNCTION_KINDS, keyed_name, lower_function
from deltos.domains.graph.typescript.lower.jsx import JSX
from deltos.domains.graph.typescript.lower.literals import lower_array_literal, lower_object_literal
from deltos.domains.graph.typescript.lower.references import lower_member_expression, lower_reference
from deltos.domains.graph.typescript.lower.walk import lower_expressions

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import ExpressionHandler, Walk
    from deltos.domains.graph.typescript.nodes import Term

_CONTEXTUALLY_TYPED_NODES = FUNCTION_KINDS | {"object", "array", "parenthesized_expression", "ternary_expression"}
_MAX_STRING_BYTES = 60  # maximum length of a string literal whose value is stored


def _lower_subscript(walk: Walk, node: Node, _expected: Term) -> Term:
    children = [child for child in node.children if child.is_named and child.type != "optional_chain"]
    owner = walk.lower_expression(children[0])
    if len(children) < 2:
        return None
    index = walk.lower_expression(children[1])
    name = index.value if isinstance(index, nodes.StringTerm) else keyed_name(walk, children[1])
    if name:
        walk.record_member(children[1], "read", owner, name)
    return nodes.ElementAccess(owner, index) if owner is not None else None


def _lower_call(walk: Walk, node: Node, _expected: Term) -> Term:
    children = node.children
    callee, given = children[0], children[-1]
    kind = callee.type
    if kind == "import":
        return _lower_dynamic_import(walk, given)
    if kind == "identifier" and "require" not in walk.scopes.values and walk.source.name(callee) == "require":
        specifier = _first_string_argument(walk, given)
        if specifier is not None:
            return _lower_require(walk, node, specifier)
    if kind == "super":
        _lower_arguments(walk, None, given, ())
        return None
    target = lower_reference(walk, callee, "call")
    type_terms: tuple[Term, ...] = ()
    if len(children) > 2:  # most calls have no type arguments
        type_terms = lower_type_arguments(
            walk, next((each for each in children if each.type == "type_arguments"), None)
        )
    _lower_arguments(walk, target, given, type_terms)
    return nodes.CallTerm(target, type_terms) if target is not None else None


def _lower_new(walk: Walk, node: Node, _expected: Term) -> Term:
    children = node.children
    target = lower_reference(walk, children[1], "call")
    generics = next((child for child in children[2:] if child.type == "type_arguments"), None)
    type_terms = lower_type_arguments(walk, generics)
    if children[-1].type == "arguments":
        constructor = nodes.MemberAccess(target, "constructor") if target is not None else None
        _lower_arguments(walk, constructor, children[-1], type_terms)
    return nodes.NewTerm(target, type_terms) if target is not None else None


def _lower_arguments(walk: Walk, target: Term, node: Node, type_terms: tuple[Term, ...]) -> None:
    """Convert the arguments of a call; functions and objects get the types that the call expects."""
    if node.type == "template_string":
        walk.lower_expression(node)
        return
    arguments = [child for child in node.children if child.is_named and child.type != "comment"]
    for position, child in enumerate(arguments):
        expected: Term = None
        if target is not None and child.type in _CONTEXTUALLY_TYPED_NODES:
            expected = walk.scopes.reusable(nodes.ArgumentOf(target, position, type_terms))
        walk.lower_expression(child, expected)


def _first_string_argument(walk: Walk, node: Node) -> str | None:
    """Return the string value of a call's first argument, or None if it is not a string literal."""
    parts = [child for child in node.children if child.is_named and child.type != "comment"]
    if len(parts) >= 1 and parts[0].type == "string":
        return walk.source.name(parts[0])[1:-1]
    return None


def _lower_dynamic_import(walk: Walk, given: Node) -> Term:
    specifier = _first_string_argument(walk, given)
    if specifier is None:
        walk.lower_expression(given)
        return None
    walk.findings.specifiers.append(ImportSite(walk.source.line(given), specifier, "deferred"))
    return nodes.AwaitTerm(nodes.ImportedModule(specifier))


def _lower_require(walk: Walk, node: Node, specifier: str) -> Term:
    walk.findings.specifiers.append(
        ImportSite(walk.source.line(node), specifier, "deferred" if walk.scopes.in_function else "runtime")
    )
    walk.findings.links.append(
        ImportLink(walk.source.line(node), walk.scopes.symbol, specifier, nodes.EXPORTED_VALUE, is_alias=False)
    )
    walk.findings.is_module = True
    return nodes.Require(specifier)


def _lower_await(walk: Walk, node: Node, _expected: Term) -> Term:
    term = walk.lower_expression(node.children[-1])
    return nodes.AwaitTerm(term) if term is not None else None


def _lower_wrapper(walk: Walk, node: Node, expected: Term) -> Term:
    """Return the type expression of the inner expression of a wrapper such as `value!`."""
    term: Term = None
    for child in node.children:
        if child.is_named and child.type != "comment":
            term = walk.lower_expression(child, expected)
    return term


def _lower_sequence(walk: Walk, node: Node, expected: Term) -> Term:
    *first, last = operands(node, "sequence_expression")
    lower_expressions(walk, first)
    return walk.lower_expression(last, expected)


def _lower_as(walk: Walk, node: Node, expected: Term) -> Term:
    children = node.children
    target = children[-1]
    if target.type == "const":
        return walk.lower_expression(children[0], expected)
    term = walk.lower_type(target)
    walk.lower_expression(children[0], term)
    return term


def _lower_satisfies(walk: Walk, node: Node, _expected: Term) -> Term:
    term = walk.lower_type(node.children[-1])
    return walk.lower_expression(node.children[0], term)


def _lower_type_assertion(walk: Walk, node: Node, _expected: Term) -> Term:
    term = lower_type_arguments(walk, node.children[0])
    walk.lower_expression(node.children[-1], term[0] if term else None)
    return term[0] if term else None


def _lower_instantiation(walk: Walk, node: Node, _expected: Term) -> Term:
    term = walk.lower_expression(node.children[0])
    lower_type_arguments(walk, node.children[-1])
    return term


def _lower_class(walk: Walk, node: Node, _expected: Term) -> Term:
    local = walk.scopes.add_local()
    walk.scopes.local_uses += 1
    name = next((child for child in node.children if child.type in ("type_identifier", "identifier")), None)
    with walk.scopes.name_scope:
        text = walk.source.name(name) if name is not None else ""
        if text:
            walk.scopes.bind_value(text, local)
            walk.scopes.bind_type(text, local)
        key = walk.add_symbol(text or "class", "class", node)
        walk.scopes.local_keys[local] = key
        walk.scopes.set_local(local, nodes.LocalType(lower_class(walk, node, local, key)))
    return local


def _lower_this(walk: Walk, _node: Node, _expected: Term) -> Term:
    return this_term(walk)


def _lower_super(walk: Walk, _node: Node, _expected: Term) -> Term:
    frame = walk.scopes.enclosing
    return nodes.Super(frame.binding, frame.is_static) if frame is not None else None


def _lower_template(walk: Walk, node: Node, _expected: Term) -> Term:
    for child in node.children:
        if child.type == "template_substitution":
            lower_expressions(walk, child.children)
    return nodes.StringTerm()


def _lower_unary(walk: Walk, node: Node, _expected: Term) -> Term:
    walk.lower_expression(node.children[-1])
    return nodes.StringTerm() if node.children[0].type == "typeof" else None


def _lower_yield(walk: Walk, node: Node, _expected: Term) -> Term:
    lower_expressions(walk, node.children)
    return None


def _lower_decorator(walk: Walk, node: Node, _expected: Term) -> Term:
    target = node.children[-1]
    if target.type == "call_expression":
        lower_reference(walk, target.children[0], "decorate")
        _lower_arguments(walk, None, target.children[-1], ())
    else:
        lower_reference(walk, target, "decorate")
    return None


EXPRESSIONS: dict[str, ExpressionHandler] = {
    **JSX,
    "identifier": lambda walk, node, _expected: walk.lower_name(node, "read"),
    "shorthand_property_identifier": lambda walk, node, _expected: walk.lower_name(node, "read"),
    "member_expression": lambda walk, node, _expected: lower_member_expression(walk, node, "read"),
    "subscript_expression": _lower_subscript,
    "call_expression": _lower_call,
    "new_expression": _lower_new,
    "await_expression": _lower_await,
    "parenthesized_expression": _lower_wrapper,
    "non_null_expression": _lower_wrapper,
    "sequence_expression": _lower_sequence,
    "as_expression": _lower_as,
    "satisfies_expression": _lower_satisfies,
    "type_assertion": _lower_type_assertion,
    "instantiation_expression": _lower_instantiation,
    **dict.fromkeys(("arrow_function", "function_expression", "generator_function"), lower_function),
    "class": _lower_class,
    "this": _lower_this,
    "super": _lower_super,
    "string": lambda walk, node, _expected: nodes.StringTerm(
        walk.source.name(node)[1:-1] if node.end_byte - node.start_byte < _MAX_STRING_BYTES else None
    ),
    "template_string": _lower_template,
    "spread_element": lambda walk, node, _expected: nodes.Spread(walk.lower_expression(node.children[-1])),
    "unary_expression": _lower_unary,
    "yield_expression": _lower_yield,
    "decorator": _lower_decorator,
    "object": lower_object_literal,
    "array": lower_array_literal,
    "binary_expression": lower_binary,
    "ternary_expression": lower_ternary,
    "assignment_expression": lower_assignment,
    "augmented_assignment_expression": lower_augmented_assignment,
    "update_expression": lower_update,
    **dict.fromkeys(
        (
            "number true false null undefined regex comment meta_property import property_identifier "
            "statement_identifier"
        ).split(),
        lambda _walk, _node, _expected: None,
    ),
}
