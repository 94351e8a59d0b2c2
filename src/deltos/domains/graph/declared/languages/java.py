"""Java: imports refer to single definitions or entire packages, and anonymous classes may override members."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.declared.facts import ImportClause, Occurrence
from deltos.domains.graph.declared.languages.traits import TEXT_NODE_TYPES, LanguageTraits, last_part, node_types
from deltos.domains.graph.declared.node_text import first_child
from deltos.domains.graph.declared.types import parse_type
from deltos.store.symbols import bare_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import tree_sitter

    from deltos.domains.graph.declared.extract import FactCollector
    from deltos.domains.graph.declared.languages.traits import Text


def _read_imports(node: tree_sitter.Node, text: Text) -> Iterator[tuple[ImportClause, tree_sitter.Node]]:
    """Yield the import of a Java import declaration."""
    body = text(node).removeprefix("import").strip().rstrip(";").strip()
    static = body.startswith("static ")
    name = body.removeprefix("static ").strip()
    if name.endswith(".*"):
        yield ImportClause("all", name[:-2]), node
    elif static:
        yield ImportClause("member", name, last_part(name)), node
    else:
        yield ImportClause("name", name, last_part(name)), node


def _record_constructor_call(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record the constructor call in Java's `super(…)` or `this(…)`."""
    called, line = node.child_by_field_name("constructor"), node.start_point[0] + 1
    if called is not None:
        name = reader.node_text.text(called)
        reader.uses.append(Occurrence(line, reader.spans.key_at(line), name, "construct", None))


def _read_anonymous_class(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record the members of an anonymous Java class, `new Base() {…}`."""
    body = next((child for child in node.named_children if child.type == "class_body"), None)
    created = node.child_by_field_name("type")
    if body is not None and created is not None:
        _record_anonymous_class(reader, body, reader.node_text.type_text(created), created)


def _read_enum_constant(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record the members of a Java enum constant that has a class body."""
    body = node.child_by_field_name("body")
    if body is not None:
        _record_anonymous_class(reader, body, reader.spans.type_at(node.start_point[0] + 1).rpartition(".")[2])


def _read_switch(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record the labels of a Java switch, such as `case ALIVE:`, as uses of enum constants."""
    condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
    if condition is None or body is None:
        return
    receiver = reader.node_text.path(first_child(condition))
    if reader.own_names is None:
        imported = {clause.alias for clause in reader.imports}
        reader.own_names = frozenset({symbol.name for symbol in reader.symbols} | imported)
    for group in body.named_children:
        labels = [each for each in group.named_children if each.type == "switch_label"]
        for constant in (each for label in labels for each in label.named_children if each.type == "identifier"):
            line, name = constant.start_point[0] + 1, reader.node_text.text(constant)
            if name in reader.own_names:  # skipped, because the label is a constant of this file, not of an enum
                continue
            reader.defined.add(constant.start_byte)
            reader.uses.append(Occurrence(line, reader.spans.key_at(line), name, "read", receiver))


def _record_anonymous_class(
    reader: FactCollector, body: tree_sitter.Node, base: str, created: tree_sitter.Node | None = None
) -> None:
    """Record the methods of an anonymous Java class, which can use and override the members of its base type."""
    for method in body.named_children:
        name = method.child_by_field_name("name") if method.type == "method_declaration" else None
        key = reader.spans.key_at(name.start_point[0] + 1) if name is not None else ""
        if name is None or bare_key(key).rpartition(".")[2] != reader.node_text.text(name):
            continue
        reader.scope(key).bases.append(base)
        if created is not None:
            qualifier, _, last = parse_type(base).name.rpartition(".")
            receiver = tuple(qualifier.split(".")) if qualifier else None
            reader.uses.append(Occurrence(created.start_point[0] + 1, key, last, "inherit", receiver))


def _read_inner_creation(reader: FactCollector, node: tree_sitter.Node) -> Iterable[tuple[tree_sitter.Node, str]]:
    """Record Java's `outer.new Inner(…)`, whose name is looked up in the type of `outer`."""
    outer, created = node.named_children[0], node.child_by_field_name("type")
    name = first_child(created) if created is not None and created.child_count else created
    if name is not None:
        reader.note_use(name, "create", reader.node_text.path(outer))
    yield from ((child, "read") for child in node.named_children if child not in (created, name))


JAVA = LanguageTraits(
    name="java",
    name_nodes=node_types("identifier type_identifier"),
    member_nodes={
        "method_invocation": ("object", "name"),
        "field_access": ("object", "field"),
        "scoped_type_identifier": ("", ""),
        "method_reference": ("", ""),
    },
    call_nodes={"method_invocation": "name"},
    creation_nodes=node_types("object_creation_expression"),
    base_nodes=node_types("superclass super_interfaces extends_interfaces"),
    type_nodes=node_types("type_identifier generic_type array_type scoped_type_identifier"),
    decorator_nodes=node_types("marker_annotation annotation"),
    local_declaration_nodes=node_types(
        "formal_parameter spread_parameter local_variable_declaration enhanced_for_statement catch_formal_parameter "
        "resource instanceof_expression type_pattern record_pattern_component inferred_parameters lambda_expression"
    ),
    scope_nodes=node_types(
        "class_declaration interface_declaration record_declaration enum_declaration method_declaration "
        "constructor_declaration compact_constructor_declaration lambda_expression block constructor_body "
        "for_statement enhanced_for_statement catch_clause try_with_resources_statement switch_block_statement_group "
        "switch_rule"
    ),
    type_parameter_nodes=node_types("type_parameter"),
    has_function_names=True,
    field_declaration_nodes=node_types("field_declaration"),
    function_nodes=node_types("method_declaration"),
    import_nodes=node_types("import_declaration"),
    package_nodes=node_types("package_declaration"),
    skipped_nodes=node_types(TEXT_NODE_TYPES),
    family="jvm",
    read_imports=_read_imports,
    readers={
        "explicit_constructor_invocation": _record_constructor_call,
        "object_creation_expression": _read_anonymous_class,
        "enum_constant": _read_enum_constant,
        "switch_expression": _read_switch,
    },
    read_inner_creation=_read_inner_creation,
    functions_have_bases=True,
    has_anonymous_classes=True,
    has_modifiers=True,
    has_exact_arity=True,
)
