"""Ruby: any file may reopen classes and modules, and `require` loads files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.declared.facts import ImportClause
from deltos.domains.graph.declared.languages.traits import TEXT_NODE_TYPES, LanguageTraits, node_types

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tree_sitter

    from deltos.domains.graph.declared.languages.traits import Text


def _read_imports(node: tree_sitter.Node, text: Text) -> Iterator[tuple[ImportClause, tree_sitter.Node]]:
    """Yield the import made by a call of `require` or `require_relative`."""
    method, arguments = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    if method is None or arguments is None or not arguments.named_child_count:
        return
    form, argument = text(method), arguments.named_children[0]
    if form in ("require", "require_relative") and argument.type == "string":
        name = text(argument).strip("\"'").removesuffix(".rb")
        yield ImportClause("file", f"{name}.rb", "system" if form == "require" else ""), node


def _external_name(clause: ImportClause) -> str:
    """Return the name of the main file of a required gem (Ruby package), such as `json.rb` for `json/ext`."""
    return f"{clause.name.partition('/')[0].removesuffix('.rb')}.rb"


RUBY = LanguageTraits(
    name="ruby",
    name_nodes=node_types("identifier constant"),
    member_nodes={"call": ("receiver", "method"), "scope_resolution": ("scope", "name")},
    call_nodes={"call": "method"},
    base_nodes=node_types("superclass"),
    local_declaration_nodes=node_types("assignment method_parameters block_parameters"),
    scope_nodes=node_types("method singleton_method block do_block lambda class module"),
    function_nodes=node_types("method singleton_method"),
    import_nodes=node_types("call"),
    skipped_nodes=node_types(TEXT_NODE_TYPES + " string_content simple_symbol hash_key_symbol heredoc_body regex"),
    receivers=frozenset({"self", "super"}),
    read_imports=_read_imports,
    external_file_name=_external_name,
    reopens_types=True,
    splits_types=True,
    sees_outer_packages=True,
    shares_members_in_package=True,
    constants_are_symbols=True,
    imports_name_definitions_only=False,
)
