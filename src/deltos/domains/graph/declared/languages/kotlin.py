"""Kotlin: single names and whole packages are imported; a package may be spread over files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.declared.facts import ImportClause
from deltos.domains.graph.declared.languages.traits import TEXTS, LanguageTraits, kinds, last_part

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
    names=kinds("identifier simple_identifier type_identifier"),
    members={"navigation_expression": ("", "")},
    calls={"call_expression": ""},
    inherits=kinds("delegation_specifiers"),
    types=kinds("user_type nullable_type"),
    decorates=kinds("annotation"),
    locals=kinds("parameter class_parameter variable_declaration property_declaration lambda_parameters"),
    scopes=kinds(
        "class_declaration object_declaration function_declaration function_body block control_structure_body "
        "lambda_literal for_statement when_entry catch_block secondary_constructor anonymous_function"
    ),
    type_parameters=kinds("type_parameter"),
    fields=kinds("class_parameter property_declaration"),
    functions=kinds("function_declaration"),
    imports=kinds("import import_header"),
    packages=kinds("package_header"),
    skipped=kinds(TEXTS),
    receivers=frozenset({"this", "super", "this_expression", "super_expression"}),
    family="jvm",
    read_imports=_read_imports,
    shares_members_in_package=True,
    has_modifiers=True,
)
