"""Facts of languages without a resolver: the definitions of the outline, without references."""

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
"""Languages whose outline is headings and settings, not symbols."""


class DefinitionsOnly:
    """Extracts definitions only."""

    def extract(self, file: ParsedFile) -> FileFacts:
        """Return the symbols of a file; none if it is prose or data."""
        return FileFacts(tuple(outlined(file)), _package(file), None)


def outlined(file: ParsedFile) -> list[Symbol]:
    """Return the definitions of a file as symbols."""
    if file.language is None or file.tree is None or file.language.name in NOT_CODE:
        return []
    from deltos.languages.outline import outline  # deferred: needs the parser library

    return list(as_symbols(outline(file.language, file.tree, file.data)))


def _package(file: ParsedFile) -> SourceInterface | None:
    """Return the package that a file declares at its top level as its interface; None if it declares none."""
    clause = file.language.package_clause if file.language is not None else ""
    nodes = file.tree.root_node.named_children if clause and file.tree is not None else ()
    node = next((node for node in nodes if node.type == clause), None)
    if node is None:
        return None
    name = read_package(node, lambda name: file.data[name.start_byte : name.end_byte].decode("utf-8", "replace"))
    return SourceInterface(name, (), {}, (), (), {})


def as_symbols(definitions: Iterable[Definition]) -> Iterator[Symbol]:
    """Convert definitions to symbols with keys that are unique in their file."""
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
