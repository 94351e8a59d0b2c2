"""Lower declarations: convert statements that declare variables, functions, classes, types and namespaces to facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.facts import Augmentation, ImportLink, Merge
from deltos.domains.graph.typescript.lower.annotations import child_after, lower_object_type
from deltos.domains.graph.typescript.lower.classes import (
    is_component_class,
    lower_class,
    lower_enum,
    lower_interface,
)
from deltos.domains.graph.typescript.lower.commonjs import required_import
from deltos.domains.graph.typescript.lower.functions import (
    ANNOTATIONS,
    lower_function,
    lower_signature,
    lower_type_parameters,
)
from deltos.domains.graph.typescript.lower.hoisting import hoist_module
from deltos.domains.graph.typescript.lower.literals import lower_named_object
from deltos.domains.graph.typescript.lower.named_values import lower_named_value, value_kind, value_term
from deltos.domains.graph.typescript.lower.patterns import bind_pattern
from deltos.domains.graph.typescript.lower.walk import ClassFrame, qualified_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import Binding, StatementHandler, Walk
    from deltos.domains.graph.typescript.nodes import Term


_MAX_NAMESPACE_PARTS = 50  # maximum number of parts in a name such as `namespace A.B.C`


def find_name_node(node: Node) -> Node | None:
    """Return the node of a declaration's name."""
    return next((child for child in node.children if child.type in ("identifier", "type_identifier")), None)


def lower_variables(walk: Walk, node: Node) -> None:
    """Convert `const a = …, b = …` to declarations."""
    comment = walk.comment
    is_constant = node.children[0].type == "const"
    for child in node.children:
        if child.type == "variable_declarator":
            walk.comment = comment
            _lower_declarator(walk, child, is_constant=is_constant)
    walk.comment = None


def _lower_declarator(walk: Walk, node: Node, *, is_constant: bool) -> None:
    """Convert one declarator of a variable declaration, such as `a = 1`."""
    children = node.children
    target = children[0]
    value = child_after(node) if len(children) > 2 else None
    annotation: Term = None
    for child in children[1:]:
        if child.type in ANNOTATIONS:
            annotation = walk.lower_type(child)
    if target.type == "identifier":
        _declare_plain_variable(walk, node, target, value, annotation, is_constant=is_constant)
        return
    term = walk.lower_expression(value, annotation) if value is not None else None
    bind_pattern(
        walk,
        target,
        annotation if annotation is not None else term,
        lambda name, name_node, part: _set_variable(walk, name, name_node, part),
    )


def _set_variable(walk: Walk, name: str, name_node: Node, term: Term) -> None:
    """Set the type expression of a hoisted variable that a destructuring pattern declares."""
    binding = walk.scopes.values.get(name)
    if isinstance(binding, int):
        walk.scopes.set_local(binding, term)
    elif isinstance(binding, str):
        key = walk.add_symbol(name, "variable", name_node)
        walk.findings.declare(binding, nodes.ValueDeclaration(key, term))
        _record_require(walk, binding, term, name_node)


def _record_require(walk: Walk, binding: str, term: Term, name_node: Node) -> None:
    """Record a variable that is initialised with `require(…)` as an import."""
    origin = required_import(term)
    if origin is not None:
        walk.findings.imports[binding] = origin
        if origin.name == nodes.EXPORTED_VALUE:
            walk.findings.links.append(
                ImportLink(
                    walk.source.line(name_node), walk.scopes.symbol, origin.specifier, origin.name, is_alias=True
                )
            )


def _declare_plain_variable(
    walk: Walk, node: Node, target: Node, value: Node | None, annotation: Term, *, is_constant: bool
) -> None:
    """Declare a variable whose target is a plain name."""
    name = walk.source.name(target)
    binding = walk.scopes.values.get(name)
    if binding is None:
        binding = walk.scopes.bind_local(name)
    kind = value_kind(value)
    term: Term = None
    if isinstance(binding, str) or kind != "variable":
        body = value.children[-1] if value is not None and kind == "function" else value
        key = walk.add_symbol(name, kind, node, at=target, body=body if annotation is None else None)
        if isinstance(binding, int):
            walk.scopes.local_keys[binding] = key
        declaration: nodes.ValueDeclaration | nodes.ClassDeclaration = nodes.ValueDeclaration(key)
        if value is not None:
            declaration = lower_named_value(walk, value, key, binding, annotation)
        term = _declare_value(walk, binding, declaration, annotation, node)
    elif value is not None:
        if value.type == "object" and not walk.scopes.in_literal:
            owner = qualified_name(walk.scopes.symbol, name)
            term = lower_named_object(walk, value, annotation, owner=owner, functions_only=True)
        else:
            term = walk.lower_expression(value, annotation)
        walk.scopes.set_local(binding, annotation if annotation is not None else term)
    elif annotation is not None:
        walk.scopes.set_local(binding, annotation)
    if not is_constant and annotation is None and term is None:
        walk.scopes.untyped.add(binding)


def _declare_value(
    walk: Walk,
    binding: Binding,
    declaration: nodes.ValueDeclaration | nodes.ClassDeclaration,
    annotation: Term,
    node: Node,
) -> Term:
    """Declare a named value and return its type expression."""
    value = declaration.term if isinstance(declaration, nodes.ValueDeclaration) else None
    if annotation is not None and isinstance(declaration, nodes.ValueDeclaration):
        declaration = nodes.ValueDeclaration(declaration.key, annotation)
    term = value_term(declaration, binding)
    if isinstance(binding, int):
        walk.scopes.set_local(
            binding, nodes.LocalType(declaration) if isinstance(declaration, nodes.ClassDeclaration) else term
        )
        return term
    # Chained exports have several names, as in `const app = module.exports = {…}`.
    if walk.findings.exported_value is not None and term is walk.findings.exported_value:
        walk.findings.exported_value = binding
        walk.findings.has_chained_exports = True
    walk.findings.declare(binding, declaration, node)
    _record_require(walk, binding, value, node)
    return term


def lower_function_statement(walk: Walk, node: Node) -> None:
    """Convert `function name() {…}` or an overload signature to a declaration."""
    name_node = find_name_node(node)
    if name_node is None:
        walk.lower_expression(node)
        return
    name = walk.source.name(name_node)
    binding = walk.scopes.values.get(name)
    if binding is None:
        binding = walk.scopes.bind_local(name)
    if node.type == "function_signature":
        _lower_overload_signature(walk, node, name_node, name, binding)
        return
    key = walk.add_symbol(name, "function", node, at=name_node, body=node.children[-1])
    if isinstance(binding, int):
        walk.name_function(binding, key)
    assigned: dict[str, tuple[Node, Term]] | None = {} if isinstance(binding, str) else None
    frame = ClassFrame(binding, key, assigned=assigned) if walk.source.is_javascript else None
    with walk.scopes.inside_symbol(key), walk.component_scope(key, name):
        term = lower_function(walk, node, frame=frame)
    if isinstance(binding, int):
        walk.scopes.set_local(binding, term)
        return
    walk.findings.declare(binding, nodes.ValueDeclaration(key, term), name_node)
    if frame is not None and assigned:
        _declare_constructor(walk, binding, key, assigned)


def _lower_overload_signature(walk: Walk, node: Node, name_node: Node, name: str, binding: Binding) -> None:
    """Convert an overload signature, which shares a symbol with a following implementation."""
    key = qualified_name(walk.scopes.symbol, name)
    if key in walk.implemented or walk.findings.has_key(key):
        walk.comment = None
        walk.findings.merges.append(Merge(walk.source.line(name_node), key, key))
    else:
        key = walk.add_symbol(name, "function", node, at=name_node)
    with walk.scopes.inside_symbol(key):
        term = lower_signature(walk, node)
    if isinstance(binding, str):
        walk.findings.declare(binding, nodes.ValueDeclaration(key, term))
    else:
        walk.scopes.set_local(binding, term)


def _declare_constructor(walk: Walk, binding: str, key: str, assigned: dict[str, tuple[Node, Term]]) -> None:
    """Declare a JavaScript function that assigns members to `this` as a class."""
    members = {
        name: nodes.ClassMember(walk.add_symbol(name, "variable", name_node, owner=key), nodes.FIELD, term)
        for name, (name_node, term) in assigned.items()
    }
    walk.findings.declare(binding, nodes.ClassDeclaration(key, members=members))


def _value_binding(walk: Walk, name: str) -> Binding:
    """Return the binding of a value name, creating a local variable if necessary."""
    found = walk.scopes.values.get(name)
    return found if found is not None else walk.scopes.bind_local(name)


def _type_binding(walk: Walk, name: str) -> Binding:
    """Return the binding of a type name, creating a local type if necessary."""
    found = walk.scopes.types.get(name)
    if isinstance(found, int | str):
        return found
    local = walk.scopes.add_local()
    walk.scopes.bind_type(name, local)
    return local


def _lower_type_statement(walk: Walk, node: Node) -> None:
    """Convert a class, interface, type alias or enum to a declaration."""
    name_node = find_name_node(node)
    if name_node is None:
        walk.lower_expression(node)
        return
    kind, lower = _TYPE_STATEMENTS[node.type]
    name = walk.source.name(name_node)
    binding = _value_binding(walk, name) if kind in ("class", "enum") else _type_binding(walk, name)
    key = walk.add_symbol(name, kind, node, at=name_node, body=node.children[-1] if kind != "type" else None)
    if isinstance(binding, int):
        walk.scopes.local_keys[binding] = key
    declaration = lower(walk, node, binding, key)
    if isinstance(declaration, nodes.ClassDeclaration) and is_component_class(declaration):
        walk.findings.mark_component(key)
    if isinstance(binding, int):
        walk.scopes.set_local(binding, nodes.LocalType(declaration))
    else:
        walk.findings.declare(binding, declaration, name_node)


def _lower_alias(walk: Walk, node: Node, key: str) -> nodes.AliasDeclaration:
    """Convert `type Name = …` to a declaration."""
    parameters: tuple[nodes.TypeParameter, ...] = ()
    term: Term = None
    with walk.scopes.inside_symbol(key), walk.scopes.name_scope:
        for child in node.children:
            if child.type == "type_parameters":
                parameters = lower_type_parameters(walk, child)
        value = child_after(node)
        if value is not None and value.type == "object_type":
            term = lower_object_type(walk, value, owner=key)
        elif value is not None:
            term = walk.lower_type(value)
    return nodes.AliasDeclaration(key, parameters, term)


_TYPE_STATEMENTS: dict[str, tuple[str, Callable[[Walk, Node, Binding, str], nodes.Declaration]]] = {
    "class_declaration": ("class", lower_class),
    "abstract_class_declaration": ("class", lower_class),
    "interface_declaration": ("interface", lambda walk, node, _binding, key: lower_interface(walk, node, key)),
    "type_alias_declaration": ("type", lambda walk, node, _binding, key: _lower_alias(walk, node, key)),
    "enum_declaration": ("enum", lambda walk, node, _binding, key: lower_enum(walk, node, key)),
}


def lower_namespace(walk: Walk, node: Node) -> None:
    """Convert `namespace A.B {…}` or `declare module 'name' {…}` to declarations."""
    name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name_node is None:
        return
    text = walk.source.name(name_node)
    if name_node.type == "string":
        _lower_ambient_module(walk, name_node, text[1:-1], body)
        return
    container = walk.scopes.container
    with walk.scopes.inside_symbol(walk.scopes.symbol):
        _lower_namespace_parts(walk, node, name_node, body, container, text)


def _lower_namespace_parts(
    walk: Walk, node: Node, name_node: Node, body: Node | None, container: str, text: str
) -> None:
    """Declare each part of a dotted namespace name, then convert the namespace's body."""
    for part in text.split(".")[:_MAX_NAMESPACE_PARTS]:
        container = f"{container}.{part}" if container else part
        key = walk.add_symbol(part, "variable", node, at=name_node, body=body)
        walk.findings.declare(container, nodes.NamespaceDeclaration(key), name_node)
        walk.scopes.symbol = key.partition("#")[0]
    lower_container(walk, body, container, walk.scopes.symbol)


def lower_container(walk: Walk, body: Node | None, container: str, source: str) -> None:
    """Convert the statements of a namespace. Names from earlier declarations of the namespace are in scope."""
    if body is None:
        return
    with walk.scopes.name_scope, walk.scopes.inside_symbol(source), walk.scopes.inside_namespace(container):
        for name in walk.findings.declared_before(container):
            last = name.rpartition(".")[2]
            walk.scopes.bind_value(last, name)
            walk.scopes.bind_type(last, name)
        hoist_module(walk, body.children, container)
        for child in body.children:
            if child.type == "comment":
                walk.comment = child
            elif child.is_named:
                walk.lower_statement(child)


def _lower_ambient_module(walk: Walk, name_node: Node, specifier: str, body: Node | None) -> None:
    """Convert the contents of `declare module 'specifier' {…}` to declarations."""
    container = f'"{specifier}"'
    known = len(walk.findings.declared)
    lower_container(walk, body, container, container)
    for name in walk.findings.declared[known:]:
        for declaration in walk.findings.declarations[name]:
            added = name[len(container) + 1 :]
            walk.findings.augmented.append(Augmentation(specifier, added, walk.source.line(name_node), declaration.key))


def lower_ambient_statement(walk: Walk, node: Node) -> None:
    """Convert a `declare …` statement to declarations."""
    children = node.children
    if any(child.type == "global" for child in children):
        lower_container(walk, children[-1], "global", "global")
        return
    for child in children:
        if child.is_named:
            walk.lower_statement(child)


DECLARATIONS: dict[str, StatementHandler] = {
    "lexical_declaration": lower_variables,
    "variable_declaration": lower_variables,
    "function_declaration": lower_function_statement,
    "generator_function_declaration": lower_function_statement,
    "function_signature": lower_function_statement,
    **dict.fromkeys(_TYPE_STATEMENTS, _lower_type_statement),
    "internal_module": lower_namespace,
    "module": lower_namespace,
    "ambient_declaration": lower_ambient_statement,
}
