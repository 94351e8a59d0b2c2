"""Lower functions and signatures: convert type parameters, parameters, results and bodies to type expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.lower.patterns import bind_pattern

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import ClassFrame, Walk
    from deltos.domains.graph.typescript.nodes import Term

ANNOTATIONS = frozenset(("type_annotation", "asserts_annotation", "type_predicate_annotation"))
_PATTERN_NODE_TYPES = frozenset(
    ("identifier", "object_pattern", "array_pattern", "rest_pattern", "assignment_pattern", "this", "undefined")
)
_MODIFIER_NODE_TYPES = frozenset(("accessibility_modifier", "readonly", "override_modifier"))
NAME_KINDS = frozenset(
    ("property_identifier", "private_property_identifier", "string", "number", "computed_property_name")
)
FUNCTION_KINDS = frozenset(("arrow_function", "function_expression", "generator_function"))


class Signature:
    """Parts of a function's signature, collected from its child nodes."""

    __slots__ = ("flags", "is_expression", "parameters", "result", "type_parameters")

    def __init__(self, *, is_expression: bool = False) -> None:
        self.type_parameters: tuple[nodes.TypeParameter, ...] = ()
        self.parameters: tuple[nodes.FunctionParameter, ...] = ()
        self.result: Term = None
        self.flags = 0
        self.is_expression = is_expression

    def add_child(self, walk: Walk, child: Node, expected: Term) -> None:
        """Add the part of the signature that is in `child`, a child of the function's node."""
        kind = child.type
        if kind == "formal_parameters":
            self.parameters = lower_parameters(walk, child, expected)
        elif kind in ANNOTATIONS:
            self.result = walk.lower_type(child)
        elif kind == "type_parameters":
            self.type_parameters = lower_type_parameters(walk, child)
        elif kind == "async":
            self.flags |= nodes.IS_ASYNC
        elif kind == "*":
            self.flags |= nodes.IS_GENERATOR
        elif kind == "decorator":
            walk.lower_expression(child)

    def term(self, returned: tuple[Term, ...] = ()) -> nodes.FunctionTerm:
        """Return the type expression of the function."""
        return nodes.FunctionTerm(self.type_parameters, self.parameters, self.result, returned, self.flags)


def lower_type_parameters(walk: Walk, node: Node) -> tuple[nodes.TypeParameter, ...]:
    """Declare type parameters in the current scope and return them."""
    nodes = [child for child in node.children if child.type == "type_parameter"]
    for child in nodes:
        walk.scopes.bind_type_parameter(_type_parameter_name(walk, child), None)
    return tuple([_lower_type_parameter(walk, child) for child in nodes])


def _type_parameter_name(walk: Walk, node: Node) -> str:
    return next((walk.source.name(child) for child in node.children if child.type == "type_identifier"), "")


def _lower_type_parameter(walk: Walk, node: Node) -> nodes.TypeParameter:
    """Convert a type parameter with its constraint and default."""
    name = _type_parameter_name(walk, node)
    constraint: Term = None
    default: Term = None
    for child in node.children:
        if child.type == "constraint":
            constraint = walk.lower_type(child)
        elif child.type == "default_type":
            default = walk.lower_type(child)
    if constraint is not None:
        walk.scopes.bind_type_parameter(name, constraint)
    return nodes.TypeParameter(name, constraint, default)


def lower_parameters(walk: Walk, node: Node, expected: Term = None) -> tuple[nodes.FunctionParameter, ...]:
    """Declare parameters in the current scope and return them."""
    found: list[nodes.FunctionParameter] = []
    for child in node.children:
        if child.is_named and child.type != "comment":
            entry = _lower_parameter(walk, child, len(found), expected)
            if entry is not None:
                found.append(entry)
    return tuple(found)


def _lower_parameter(walk: Walk, node: Node, position: int, expected: Term) -> nodes.FunctionParameter | None:
    """Declare one parameter; `expected` is the expected type of the function."""
    context = nodes.ParameterOf(expected, position) if expected is not None else None
    if node.type not in ("required_parameter", "optional_parameter"):
        return _lower_bare_parameter(walk, node, context)
    flags = nodes.IS_OPTIONAL if node.type == "optional_parameter" else 0
    pattern: Node | None = None
    term: Term = None
    annotated = is_property = False
    for child in node.children:
        kind = child.type
        if kind in ANNOTATIONS:
            term, annotated = walk.lower_type(child), True
        elif kind in _MODIFIER_NODE_TYPES:
            is_property = True
        elif kind == "decorator":
            walk.lower_expression(child)
        elif kind in _PATTERN_NODE_TYPES and pattern is None:
            pattern = child
        elif child.is_named and kind != "comment":
            default = walk.lower_expression(child, term if annotated else None)
            flags |= nodes.IS_OPTIONAL
            term = term if annotated else default
    if pattern is None:
        return None
    if not annotated and term is None:
        term = context
    return _bind_parameter(walk, pattern, term, flags, is_property=is_property)


def _lower_bare_parameter(walk: Walk, node: Node, context: Term) -> nodes.FunctionParameter | None:
    """Declare a parameter without an annotation, as in JavaScript."""
    if node.type == "assignment_pattern":
        default = walk.lower_expression(node.children[-1])
        term = context if default is None else default if context is None else nodes.OneOf((context, default))
        term = walk.scopes.reusable(term)
        return _bind_parameter(walk, node.children[0], term, nodes.IS_OPTIONAL)
    return _bind_parameter(walk, node, context, 0)


def _bind_parameter(
    walk: Walk, pattern: Node, term: Term, flags: int, *, is_property: bool = False
) -> nodes.FunctionParameter | None:
    """Bind the names of a parameter and return the parameter, or None for `this`."""
    if pattern.type == "rest_pattern":
        flags |= nodes.IS_REST
        pattern = pattern.children[-1]
    name = walk.source.name(pattern) if pattern.type in ("identifier", "this") else ""
    if name:
        walk.scopes.bind_local(name, term)
    else:
        bind_pattern(walk, pattern, term, lambda found, _node, found_term: walk.scopes.bind_local(found, found_term))
    if is_property and name:
        walk.parameter_properties.append((name, term, pattern))
    return None if name == "this" else nodes.FunctionParameter(name, term, flags)


def lower_signature(walk: Walk, node: Node) -> nodes.FunctionTerm:
    """Return the type expression of a signature without a body: a function type, overload, or interface method."""
    with walk.scopes.name_scope:
        signature = Signature()
        after_arrow = False
        for child in node.children:
            if after_arrow:
                signature.result = walk.lower_type(child)
            elif child.type == "=>":
                after_arrow = True
            else:
                signature.add_child(walk, child, None)
    return signature.term()


def lower_function(
    walk: Walk, node: Node, expected: Term = None, *, frame: ClassFrame | None = None
) -> nodes.FunctionTerm:
    """Convert a function and its body, and return its type expression. In a method, `this` belongs to `frame`."""
    is_arrow = node.type == "arrow_function"
    scopes = walk.scopes
    signature = Signature(is_expression=node.type in FUNCTION_KINDS)
    with scopes.function_body(scopes.enclosing if is_arrow else frame), scopes.name_scope:
        if not is_arrow and "this" in scopes.values:
            scopes.bind_local("this")
        *head, body = node.children
        for child in head:
            if child.type == "identifier":
                _lower_head_identifier(walk, child, signature, expected, is_arrow=is_arrow)
            else:
                signature.add_child(walk, child, expected)
        returned = _lower_body(walk, body, signature, expected)
    return signature.term(returned)


def _lower_head_identifier(walk: Walk, node: Node, signature: Signature, expected: Term, *, is_arrow: bool) -> None:
    """Convert an identifier before a function's body: the function's name or an arrow function's only parameter."""
    if is_arrow:
        context = nodes.ParameterOf(expected, 0) if expected is not None else None
        parameter = _bind_parameter(walk, node, context, 0)
        signature.parameters = (parameter,) if parameter is not None else ()
    elif signature.is_expression:
        walk.scopes.bind_local(walk.source.name(node))


def _lower_body(walk: Walk, body: Node, signature: Signature, expected: Term) -> tuple[Term, ...]:
    """Convert a function's body. Return the return values' type expressions if no result type is declared."""
    routine = walk.scopes.routine
    # Use the result type that a JSDoc comment declares.
    if signature.result is None and isinstance(expected, nodes.FunctionTerm):
        signature.result = expected.result
    wanted = signature.result
    if wanted is None and expected is not None:
        wanted = nodes.ResultOf(expected)
    if wanted is not None and signature.flags & nodes.IS_ASYNC:
        wanted = nodes.AwaitTerm(wanted)
    routine.expected = wanted
    if body.type == "statement_block":
        walk.lower_statement(body)
        return tuple(routine.returns) if signature.result is None else ()
    if wanted is None:
        routine.returned_object = object_literal_id(body)
    term = walk.lower_expression(body, wanted)
    return (term,) if signature.result is None and term is not None else ()


def object_literal_id(node: Node) -> int:
    """Return the id of an object literal node, ignoring parentheses around it, or 0 for other expressions."""
    while node.type == "parenthesized_expression" and node.named_child_count == 1:
        node = node.named_children[0]
    return node.id if node.type == "object" else 0


def accessor_type(function: nodes.FunctionTerm, *, is_getter: bool) -> Term:
    """Return the type of the property that a getter or setter defines."""
    if not is_getter:
        return function.parameters[0].term if function.parameters else None
    if function.result is not None or not function.returned:
        return function.result
    return nodes.OneOf(function.returned)


def keyed_name(walk: Walk, node: Node) -> str:
    """Return the member name for a computed key: a well-known symbol (`[Symbol.iterator]`) or a module constant."""
    text = walk.source.name(node)
    if node.type == "identifier":
        return f"[{text}]" if type(walk.scopes.values.get(text)) is str else ""
    return f"[{text}]" if text.startswith("Symbol.") else ""


def member_name(walk: Walk, node: Node) -> str:
    """Return the name of a property as written, or an empty string if it is computed."""
    kind = node.type
    if kind == "string":
        return walk.source.name(node)[1:-1]
    if kind == "computed_property_name":
        inner = node.children[1]
        if inner.type == "string":
            return walk.source.name(inner)[1:-1]
        walk.lower_expression(inner)
        return keyed_name(walk, inner)
    return walk.source.name(node)


def lower_signature_member(walk: Walk, node: Node, owner: str | None) -> nodes.ObjectMember | None:
    """Convert a property or method of an interface or object type."""
    children = node.children
    name_node = next((child for child in children if child.type in NAME_KINDS), None)
    if name_node is None:
        for child in children:
            if child.is_named:
                walk.lower_type(child)
        return None
    name = member_name(walk, name_node)
    is_method = node.type != "property_signature"
    is_optional = any(child.type == "?" for child in children)
    key = None
    if owner is not None and name:
        key = walk.add_symbol(name, "method" if is_method else "variable", node, at=name_node, owner=owner)
    with walk.scopes.inside_symbol(key or walk.scopes.symbol):
        term: Term = None
        if is_method:
            term = function = lower_signature(walk, node)
            if children[0].type == "get":
                term = function.result
            elif children[0].type == "set":
                term = function.parameters[0].term if function.parameters else None
        elif children[-1].type in ANNOTATIONS:
            term = walk.lower_type(children[-1])
    return nodes.ObjectMember(name, term, key, is_optional)
