"""Lower type annotations: convert them to type expressions and record every name in them as a type reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.facts import ImportLink
from deltos.domains.graph.typescript.lower.functions import lower_signature, lower_signature_member

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from deltos.domains.graph.model import EdgeKind
    from deltos.domains.graph.typescript.lower.walk import Walk
    from deltos.domains.graph.typescript.nodes import Term


MAX_NAME_PARTS = 50  # maximum number of parts in a dotted name


def named_children(node: Node) -> list[Node]:
    """Return a node's children, excluding punctuation and comments."""
    return [child for child in node.children if child.is_named and child.type != "comment"]


def child_after(node: Node, mark: str = "=") -> Node | None:
    """Return the first named child after a punctuation token such as `=`."""
    found = False
    for child in node.children:
        if found and child.is_named and child.type != "comment":
            return child
        found = found or child.type == mark
    return None


def _lower_first_child(walk: Walk, node: Node) -> Term:
    """Return the type expression of a node's first child."""
    terms = [walk.lower_type(child) for child in named_children(node)]
    return terms[0] if terms else None


def _lower_type_identifier(walk: Walk, node: Node, kind: EdgeKind = "type") -> Term:
    binding = walk.lower_type_name(node, kind)
    return binding if isinstance(binding, nodes.TypeParameterUse) else nodes.TypeReference(binding)


def operands(node: Node, kind: str) -> list[Node]:
    """Return the operands of nested nodes of one kind, from left to right."""
    found: list[Node] = []
    while node.type == kind and (children := named_children(node)):
        found.extend(reversed(children[1:]))
        node = children[0]
    return [node, *reversed(found)]


def _lower_entity_name(walk: Walk, node: Node, kind: EdgeKind = "type") -> Term:
    """Return the type expression of a plain or dotted name in a type."""
    name_nodes: list[Node] = []
    while node.child_count and node.type != "call_expression":
        parts = node.children
        name_nodes.append(parts[-1])
        node = parts[0]
    if len(name_nodes) > MAX_NAME_PARTS:
        walk.record_plain_names(node)
        return None
    owner = _lower_import_type(walk, node) if node.type == "call_expression" else _lower_first_name(walk, node)
    while name_nodes:
        name_node = name_nodes.pop()
        name = walk.source.name(name_node)
        walk.record_member(name_node, "type" if name_nodes else kind, owner, name)
        owner = nodes.MemberAccess(owner, name)
    return owner


def _lower_first_name(walk: Walk, node: Node) -> Term:
    """Return the type expression of the first part of a dotted name."""
    name = walk.source.name(node)
    if name in walk.scopes.values or name not in walk.scopes.types:
        return walk.lower_name_at(name, node.start_byte, "read")
    return walk.lower_type_name(node)


def _lower_import_type(walk: Walk, node: Node) -> Term:
    """Return the type expression of `import('./module')` in a type."""
    text = next((part for part in node.children[-1].children if part.type == "string"), None)
    if text is None:
        return None
    specifier = walk.source.name(text)[1:-1]
    walk.findings.links.append(
        ImportLink(walk.source.line(node), walk.scopes.symbol, specifier, nodes.EXPORTED_VALUE, is_alias=True)
    )
    return nodes.ImportedModule(specifier)


def _lower_generic(walk: Walk, node: Node) -> Term:
    name, arguments = node.children[0], node.children[-1]
    head = walk.lower_type(name)
    given = lower_type_arguments(walk, arguments)
    return nodes.TypeReference(head.entity, given) if isinstance(head, nodes.TypeReference) else head


def lower_inherited_type(walk: Walk, node: Node) -> Term:
    """Return the type expression of a type that a class or interface extends or implements."""
    if node.type == "generic_type":
        head = lower_inherited_type(walk, node.children[0])
        if isinstance(head, nodes.TypeReference):
            return nodes.TypeReference(head.entity, lower_type_arguments(walk, node.children[-1]))
        return head
    if node.type in ("type_identifier", "identifier"):
        return _lower_type_identifier(walk, node, "inherit")
    if node.type in ("nested_type_identifier", "nested_identifier", "member_expression"):
        return nodes.TypeReference(_lower_entity_name(walk, node, "inherit"))
    return walk.lower_type(node)


def lower_type_arguments(walk: Walk, node: Node | None) -> tuple[Term, ...]:
    """Return the type expressions of the type arguments between `<` and `>`."""
    if node is None:
        return ()
    return tuple([walk.lower_type(child) for child in node.children if child.is_named and child.type != "comment"])


def _lower_tuple(walk: Walk, node: Node) -> Term:
    return nodes.TupleType(tuple([_lower_tuple_item(walk, child) for child in named_children(node)]))


def _lower_tuple_item(walk: Walk, node: Node) -> Term:
    if node.type in ("required_parameter", "optional_parameter"):
        annotation = node.child_by_field_name("type")
        return walk.lower_type(annotation) if annotation is not None else None
    return walk.lower_type(node)


def _lower_query(walk: Walk, node: Node) -> Term:
    child = named_children(node)[0]
    if child.type == "call_expression":
        return _lower_import_type(walk, child)
    term = walk.lower_expression(child)
    for extra in named_children(node)[1:]:
        walk.lower_type(extra)
    return term


def _lower_lookup(walk: Walk, node: Node) -> Term:
    children = named_children(node)
    owner = walk.lower_type(children[0])
    index = walk.lower_type(children[1]) if len(children) > 1 else None
    if isinstance(index, nodes.StringTerm) and index.value is not None:
        walk.record_member(children[1], "type", owner, index.value)
    return nodes.ElementAccess(owner, index)


def _lower_conditional(walk: Walk, node: Node) -> Term:
    parts = named_children(node)
    if len(parts) != 4:
        return _lower_first_child(walk, node)
    checked_part, extended_part, yes_part, no_part = parts
    with walk.scopes.name_scope:
        checked, extended = walk.lower_type(checked_part), walk.lower_type(extended_part)
        yes = walk.lower_type(yes_part)
    return nodes.ConditionalType(checked, extended, yes, walk.lower_type(no_part))


def _lower_infer(walk: Walk, node: Node) -> Term:
    children = named_children(node)
    name = walk.source.name(children[0])
    constraint = walk.lower_type(children[1]) if len(children) > 1 else None
    walk.scopes.bind_type_parameter(name, constraint)
    return None


def _lower_predicate(walk: Walk, node: Node) -> Term:
    """Record the references in a type predicate such as `parameter is Type`, which is a boolean value."""
    walk.lower_type(node.children[-1])
    return None


def this_term(walk: Walk) -> Term:
    """Return the type expression of `this` at the current position."""
    binding = walk.scopes.values.get("this")
    walk.scopes.local_uses += 1
    if binding is not None:
        return binding
    frame = walk.scopes.enclosing
    if frame is None:
        return None
    return nodes.ThisClass(frame.binding) if frame.is_static else nodes.ThisInstance(frame.binding)


def lower_object_type(walk: Walk, node: Node, *, owner: str | None) -> nodes.ObjectTerm | nodes.MappedType:
    """Return the type expression of an object type. The object's members become symbols of `owner`, if it is given."""
    members: list[nodes.ObjectMember] = []
    calls: list[Term] = []
    index: Term = None
    for child in node.children:
        kind = child.type
        if kind == "comment":
            walk.comment = child
        elif kind == "index_signature":
            index = lower_index_signature(walk, child)
        elif kind in ("call_signature", "construct_signature"):
            calls.append(lower_signature(walk, child))
        elif child.is_named:
            member = lower_signature_member(walk, child, owner)
            if member is not None:
                members.append(member)
    if isinstance(index, nodes.MappedType) and not members:
        return index
    return nodes.ObjectTerm(tuple(members), (), tuple(calls), index)


def lower_index_signature(walk: Walk, node: Node) -> Term:
    """Return the element type of an index signature such as `[key: string]: T`, or the mapped type `{[K in T]: …}`."""
    clause = next((child for child in node.children if child.type == "mapped_type_clause"), None)
    value = node.child_by_field_name("type")
    if clause is None:
        index = node.child_by_field_name("index_type")
        if index is not None:
            walk.lower_type(index)
        return walk.lower_type(value) if value is not None else None
    return _lower_mapped_type(walk, clause, value)


def _lower_mapped_type(walk: Walk, clause: Node, value: Node | None) -> Term:
    children = named_children(clause)
    with walk.scopes.name_scope:
        name = walk.source.name(children[0])
        constraint = walk.lower_type(children[1])
        walk.scopes.bind_type_parameter(name, constraint)
        for alias in children[2:]:
            walk.lower_type(alias)
        term = walk.lower_type(value) if value is not None else None
    return nodes.MappedType(name, constraint, term)


def _lower_types(walk: Walk, nodes: list[Node]) -> tuple[Term, ...]:
    return tuple([walk.lower_type(node) for node in nodes])


TYPES: dict[str, Callable[[Walk, Node], Term]] = {
    **dict.fromkeys(("type_identifier", "identifier"), _lower_type_identifier),
    **dict.fromkeys(
        ("nested_type_identifier", "nested_identifier", "member_expression"),
        lambda walk, node: nodes.TypeReference(_lower_entity_name(walk, node)),
    ),
    "call_expression": lambda walk, node: nodes.TypeReference(_lower_import_type(walk, node)),
    "generic_type": _lower_generic,
    "predefined_type": lambda walk, node: nodes.StringTerm() if walk.source.name(node) == "string" else nodes.ANY,
    "literal_type": lambda walk, node: (
        nodes.StringTerm(walk.source.name(node)[1:-1]) if node.children[0].type == "string" else nodes.ANY
    ),
    "array_type": lambda walk, node: nodes.ArrayType(walk.lower_type(node.children[0])),
    "tuple_type": _lower_tuple,
    "union_type": lambda walk, node: nodes.OneOf(_lower_types(walk, operands(node, "union_type"))),
    "intersection_type": lambda walk, node: nodes.Intersection(_lower_types(walk, operands(node, "intersection_type"))),
    **dict.fromkeys(("parenthesized_type", "optional_type", "flow_maybe_type"), _lower_first_child),
    **dict.fromkeys(
        (
            "readonly_type rest_type type_annotation opting_type_annotation omitting_type_annotation "
            "adding_type_annotation asserts_annotation type_predicate_annotation default_type constraint"
        ).split(),
        lambda walk, node: walk.lower_type(node.children[-1]),
    ),
    "type_query": _lower_query,
    "lookup_type": _lower_lookup,
    "index_type_query": lambda walk, node: nodes.KeyOf(_lower_first_child(walk, node)),
    "conditional_type": _lower_conditional,
    "infer_type": _lower_infer,
    "type_predicate": _lower_predicate,
    "asserts": lambda walk, node: (
        _lower_predicate(walk, node.children[-1]) if node.children[-1].type == "type_predicate" else None
    ),
    "this_type": lambda walk, _node: this_term(walk),
    "this": lambda walk, _node: this_term(walk),
    "object_type": lambda walk, node: lower_object_type(walk, node, owner=None),
    "function_type": lower_signature,
    "constructor_type": lower_signature,
    "comment": lambda _walk, _node: None,
}
