"""Kotlin: imports refer to single definitions or entire packages, and a package may have several files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.declared.facts import ImportClause
from deltos.domains.graph.declared.languages.traits import TEXT_NODE_TYPES, LanguageTraits, last_part, node_types

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tree_sitter

    from deltos.domains.graph.declared.languages.traits import Text


def _read_imports(node: tree_sitter.Node, text: Text) -> Iterator[tuple[ImportClause, tree_sitter.Node]]:
    """Yield the import of a Kotlin import header."""
    body, _, alias = text(node).strip().removeprefix("import").strip().partition(" as ")
    name = body.strip()
    if name.endswith(".*"):
        yield ImportClause("all", name[:-2]), node
    else:
        yield ImportClause("name", name, alias.strip() or last_part(name)), node


KOTLIN = LanguageTraits(
    name="kotlin",
    name_nodes=node_types("identifier simple_identifier type_identifier"),
    member_nodes={"navigation_expression": ("", "")},
    call_nodes={"call_expression": ""},
    base_nodes=node_types("delegation_specifiers"),
    type_nodes=node_types("user_type nullable_type"),
    decorator_nodes=node_types("annotation"),
    local_declaration_nodes=node_types(
        "parameter class_parameter variable_declaration property_declaration lambda_parameters"
    ),
    scope_nodes=node_types(
        "class_declaration object_declaration function_declaration function_body block control_structure_body "
        "lambda_literal for_statement when_entry catch_block secondary_constructor anonymous_function"
    ),
    type_parameter_nodes=node_types("type_parameter"),
    field_declaration_nodes=node_types("class_parameter property_declaration"),
    function_nodes=node_types("function_declaration"),
    import_nodes=node_types("import import_header"),
    package_nodes=node_types("package_header"),
    skipped_nodes=node_types(TEXT_NODE_TYPES),
    receivers=frozenset({"this", "super", "this_expression", "super_expression"}),
    family="jvm",
    read_imports=_read_imports,
    shares_members_in_package=True,
    has_modifiers=True,
)
