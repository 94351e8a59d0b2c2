"""Extract definitions, but no references, for languages without a resolver."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.facts import SourceInterface
from deltos.domains.graph.declared.imports import read_package
from deltos.domains.graph.kernel.resolver import FileFacts
from deltos.store.symbols import Symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.languages.model import Definition
    from deltos.workspace.indexer import ParsedFile

NOT_CODE = frozenset({"markdown", "json", "yaml", "toml", "html", "css", "scss", "text", "restructuredtext", ""})
"""Languages whose outline consists of headings or settings, not symbols."""


class DefinitionsOnly:
    """Extractor of definitions for languages in which references are not resolved."""

    def extract(self, file: ParsedFile) -> FileFacts:
        """Return the symbols of a file. Prose and data files have no symbols."""
        return FileFacts(tuple(outline_symbols(file)), _package_interface(file), None)


def outline_symbols(file: ParsedFile) -> list[Symbol]:
    """Return the definitions of a file as symbols."""
    if file.language is None or file.tree is None or file.language.name in NOT_CODE:
        return []
    from deltos.languages.outline import outline  # deferred import, because the module loads the parser library

    return list(as_symbols(outline(file.language, file.tree, file.data)))


def _package_interface(file: ParsedFile) -> SourceInterface | None:
    """Return the package that a file declares, in the form of a `SourceInterface`, or None if it declares none."""
    clause = file.language.package_clause if file.language is not None else ""
    nodes = file.tree.root_node.named_children if clause and file.tree is not None else ()
    node = next((node for node in nodes if node.type == clause), None)
    if node is None:
        return None
    name = read_package(node, lambda name: file.data[name.start_byte : name.end_byte].decode("utf-8", "replace"))
    return SourceInterface(name, (), {}, (), (), {})


def as_symbols(definitions: Iterable[Definition]) -> Iterator[Symbol]:
    """Convert definitions to symbols with unique keys in their file."""
    counts: Counter[str] = Counter()
    for definition in definitions:
        name = definition.qualified_name
        counts[name] += 1
        key = name if counts[name] == 1 else f"{name}#{counts[name]}"
        yield Symbol(
            key,
            definition.name,
            definition.kind,
            definition.line,
            definition.end_line,
            definition.signature,
            definition.doc,
        )
