"""Lower classes, interfaces and enums: convert them to declarations and symbols, with base types and members."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.facts import Merge
from deltos.domains.graph.typescript.lower.annotations import (
    child_after,
    lower_index_signature,
    lower_inherited_type,
    lower_object_type,
    lower_type_arguments,
    named_children,
)
from deltos.domains.graph.typescript.lower.functions import (
    ANNOTATIONS,
    FUNCTION_KINDS,
    NAME_KINDS,
    accessor_type,
    lower_function,
    lower_signature,
    lower_type_parameters,
    member_name,
)
from deltos.domains.graph.typescript.lower.references import lower_reference
from deltos.domains.graph.typescript.lower.walk import ClassFrame, qualified_name

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import Binding, Walk
    from deltos.domains.graph.typescript.nodes import Term

_METHOD_NODE_TYPES = frozenset(("method_definition", "method_signature", "abstract_method_signature"))
_FIELD_NODE_TYPES = frozenset(("public_field_definition", "field_definition"))
_MAX_OVERLOADS = 200
_COMPONENT_BASES = frozenset(("Component", "PureComponent"))


class _ClassMembers:
    """Members of the class being converted, with separate tables for instance and static members."""

    def __init__(self, key: str, implemented: set[tuple[str, bool]]) -> None:
        self.key = key
        self.tables: tuple[dict[str, nodes.ClassMember], dict[str, nodes.ClassMember]] = ({}, {})
        self._implemented = implemented
        self._keys: dict[tuple[str, bool], str] = {}

    def add_member_symbol(self, walk: Walk, node: Node, name_node: Node, name: str, kind: str, *, static: bool) -> str:
        """Add a symbol for a member and return its key. Overloads and accessors of a property share one symbol."""
        has_body = node.type == "method_definition"
        known = self._keys.get((name, static))
        if known is None and (has_body or (name, static) not in self._implemented):
            symbol_kind = "variable" if kind == nodes.FIELD else "method"
            body = node.children[-1] if has_body else None
            known = walk.add_symbol(name, symbol_kind, node, at=name_node, owner=self.key, body=body)
        else:
            walk.comment = None
            key = known or qualified_name(self.key, name)
            walk.findings.merges.append(Merge(walk.source.line(name_node), key, key))
            return key
        self._keys[(name, static)] = known
        return known

    def add(self, name: str, member: nodes.ClassMember, *, static: bool) -> None:
        """Add a member; another signature of the same method becomes an overload."""
        table = self.tables[static]
        known = table.get(name)
        if known is None or member.kind == nodes.FIELD:
            table[name] = member
        elif member.kind == nodes.ACCESSOR:
            table[name] = known if known.term is not None else member
        else:
            table[name] = nodes.ClassMember(known.key, known.kind, _add_overload(known.term, member.term))


def lower_class(walk: Walk, node: Node, binding: Binding, key: str) -> nodes.ClassDeclaration:
    """Convert a class to a declaration."""
    parameters: tuple[nodes.TypeParameter, ...] = ()
    heritage: tuple[Term, tuple[Term, ...], tuple[Term, ...]] = (None, (), ())
    members = _ClassMembers(key, set())
    with (
        walk.scopes.name_scope,
        walk.scopes.inside_symbol(key),
        walk.scopes.with_this(walk.scopes.enclosing),
    ):
        for child in node.children:
            kind = child.type
            if kind == "type_parameters":
                parameters = lower_type_parameters(walk, child)
            elif kind == "class_heritage":
                heritage = _lower_heritage(walk, child)
            elif kind == "class_body":
                members = _ClassMembers(key, _implemented_methods(walk, child))
                _lower_class_body(walk, child, ClassFrame(binding, key), members)
            elif kind == "decorator":
                walk.lower_expression(child)
    return nodes.ClassDeclaration(key, parameters, *heritage, *members.tables)


def is_component_class(declaration: nodes.ClassDeclaration) -> bool:
    """Whether a class extends a React component."""
    base = declaration.base
    name = base.name if isinstance(base, nodes.MemberAccess) else base
    return isinstance(name, str) and name in _COMPONENT_BASES


def _lower_heritage(walk: Walk, node: Node) -> tuple[Term, tuple[Term, ...], tuple[Term, ...]]:
    """Return the base class, its type arguments, and the implemented interfaces."""
    base: Term = None
    base_arguments: tuple[Term, ...] = ()
    implemented: list[Term] = []
    for child in node.children:
        if child.type == "extends_clause":
            base = lower_reference(walk, child.children[1], "inherit")
            if child.children[-1].type == "type_arguments":
                base_arguments = lower_type_arguments(walk, child.children[-1])
        elif child.type == "implements_clause":
            implemented += [lower_inherited_type(walk, part) for part in named_children(child)]
        elif child.is_named and child.type != "comment":  # In JavaScript, the base class may be any expression.
            base = lower_reference(walk, child, "inherit")
    return base, base_arguments, tuple(implemented)


def _implemented_methods(walk: Walk, body: Node) -> set[tuple[str, bool]]:
    """Return name and static flag of each method that has a body, or an empty set if all methods have a body."""
    if not any(child.type == "method_signature" for child in body.children):
        return set()
    found = set()
    for child in body.children:
        if child.type == "method_definition":
            name_node = next((part for part in child.children if part.type in NAME_KINDS), None)
            static = any(part.type == "static" for part in child.children)
            if name_node is not None:
                found.add((walk.source.name(name_node), static))
    return found


def _lower_class_body(walk: Walk, node: Node, frame: ClassFrame, members: _ClassMembers) -> None:
    """Convert the members of a class."""
    statics = ClassFrame(frame.binding, frame.key, is_static=True)
    frame.assigned = {} if walk.source.is_javascript else None
    for child in node.children:
        kind = child.type
        if kind == "comment":
            walk.comment = child
            continue
        walk.scopes.enclosing = frame
        if kind in _METHOD_NODE_TYPES:
            _lower_method(walk, child, (frame, statics), members)
        elif kind in _FIELD_NODE_TYPES:
            _lower_field(walk, child, (frame, statics), members)
        elif kind == "index_signature":
            lower_index_signature(walk, child)
        elif kind == "class_static_block":
            walk.scopes.enclosing = statics
            walk.lower_statement(child.children[-1])
        elif child.is_named:
            walk.lower_expression(child)
    for name, (name_node, term) in (frame.assigned or {}).items():
        if name not in members.tables[0]:
            key = walk.add_symbol(name, "variable", name_node, owner=frame.key)
            members.add(name, nodes.ClassMember(key, nodes.FIELD, term), static=False)


def _lower_method(walk: Walk, node: Node, frames: tuple[ClassFrame, ClassFrame], members: _ClassMembers) -> None:
    words = {child.type for child in node.children}
    static = "static" in words
    name_node = next((child for child in node.children if child.type in NAME_KINDS), None)
    name = member_name(walk, name_node) if name_node is not None else ""
    if name_node is None or not name:
        _lower_method_function(walk, node, frames[static])
        return
    kind = nodes.ACCESSOR if "get" in words or "set" in words else nodes.METHOD
    key = members.add_member_symbol(walk, node, name_node, name, kind, static=static)
    with walk.scopes.inside_symbol(key):
        walk.parameter_properties = []
        function = _lower_method_function(walk, node, frames[static])
        term: Term = function
        if kind == nodes.ACCESSOR:
            term = accessor_type(function, is_getter="get" in words)
    members.add(name, nodes.ClassMember(key, kind, term), static=static)
    if name == "constructor":
        _declare_parameter_properties(walk, members)


def _lower_method_function(walk: Walk, node: Node, frame: ClassFrame) -> nodes.FunctionTerm:
    if node.type == "method_definition":
        return lower_function(walk, node, frame=frame)
    return lower_signature(walk, node)


def _declare_parameter_properties(walk: Walk, members: _ClassMembers) -> None:
    """Declare the constructor parameters that are also members of the class."""
    for name, term, name_node in walk.parameter_properties:
        key = walk.add_symbol(name, "variable", name_node, owner=members.key)
        members.add(name, nodes.ClassMember(key, nodes.FIELD, term), static=False)


def _lower_field(walk: Walk, node: Node, frames: tuple[ClassFrame, ClassFrame], members: _ClassMembers) -> None:
    children = node.children
    static = any(child.type == "static" for child in children)
    name_node = next((child for child in children if child.type in NAME_KINDS), None)
    if name_node is None:
        return
    name = member_name(walk, name_node)
    value = child_after(node) if len(children) > 2 else None
    is_function = value is not None and value.type in FUNCTION_KINDS
    key = ""
    if name:
        kind = "method" if is_function else "variable"
        key = walk.add_symbol(name, kind, node, at=name_node, owner=members.key)
    with walk.scopes.inside_symbol(key or walk.scopes.symbol):
        walk.scopes.enclosing = frames[static]
        term: Term = None
        annotated = False
        for child in children:
            if child.type in ANNOTATIONS:
                term, annotated = walk.lower_type(child), True
            elif child.type == "decorator":
                walk.lower_expression(child)
        if value is not None:
            found = walk.lower_expression(value, term)
            term = term if annotated else found
    if name:
        members.add(name, nodes.ClassMember(key, nodes.FIELD, term), static=static)


def lower_interface(walk: Walk, node: Node, key: str) -> nodes.InterfaceDeclaration:
    """Convert an interface to a declaration."""
    binding = walk.scopes.types.get(walk.source.name(_name_of(node)), key)
    frame = ClassFrame(key if isinstance(binding, nodes.TypeParameterUse) else binding, key)
    parameters: tuple[nodes.TypeParameter, ...] = ()
    bases: tuple[Term, ...] = ()
    shape: nodes.ObjectTerm | nodes.MappedType = nodes.ObjectTerm()
    with walk.scopes.name_scope, walk.scopes.inside_symbol(key), walk.scopes.with_this(frame):
        for child in node.children:
            if child.type == "type_parameters":
                parameters = lower_type_parameters(walk, child)
            elif child.type in ("extends_type_clause", "extends_clause"):
                bases = tuple([lower_inherited_type(walk, part) for part in named_children(child)])
            elif child.type in ("interface_body", "object_type"):
                shape = lower_object_type(walk, child, owner=key)
    # This occurs only in invalid source, because an interface cannot be a mapped type.
    if isinstance(shape, nodes.MappedType):
        shape = nodes.ObjectTerm()
    return nodes.InterfaceDeclaration(key, parameters, bases, member_table(shape.members), shape.calls, shape.index)


def _name_of(node: Node) -> Node:
    return next(child for child in node.children if child.type in ("type_identifier", "identifier"))


def member_table(members: tuple[nodes.ObjectMember, ...]) -> dict[str, nodes.ClassMember]:
    """Return members by name, combining methods of the same name into overloads."""
    table: dict[str, nodes.ClassMember] = {}
    for member in members:
        known = table.get(member.name)
        if known is None:
            kind = nodes.METHOD if isinstance(member.term, nodes.FunctionTerm) else nodes.FIELD
            table[member.name] = nodes.ClassMember(member.key or "", kind, member.term)
        else:
            table[member.name] = nodes.ClassMember(known.key, known.kind, _add_overload(known.term, member.term))
    return table


def _add_overload(known: Term, term: Term) -> Term:
    """Return the overloads of a method with one more signature, unless the maximum number is reached."""
    earlier = known.terms if isinstance(known, nodes.Overloads) else (known,)
    return nodes.Overloads((*earlier, term)) if len(earlier) < _MAX_OVERLOADS else known


def lower_enum(walk: Walk, node: Node, key: str) -> nodes.EnumDeclaration:
    """Convert an enum to a declaration."""
    members: dict[str, str] = {}
    for child in node.children[-1].children:
        if child.type == "comment":
            walk.comment = child
        elif child.is_named:
            name_node = child.children[0] if child.type == "enum_assignment" else child
            name = member_name(walk, name_node)
            if name:
                members[name] = walk.add_symbol(name, "variable", child, at=name_node, owner=key)
            if child.type == "enum_assignment":
                walk.lower_expression(child.children[-1])
    return nodes.EnumDeclaration(key, members)
