"""Indexing of the code graph: extract facts from parsed files, and resolve only the files that a change affects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.manifest import (
    MANIFEST_LANGUAGE,
    declared_package,
    is_manifest,
    is_package_manifest,
    manifest_facts,
)
from deltos.domains.graph.facts import StoredProjectFacts, encode
from deltos.domains.graph.kernel.dependencies import files_named, files_with_suffix
from deltos.domains.graph.languages import DECLARED_LANGUAGES, DEFINITIONS_ONLY, FAMILIES, resolver_of
from deltos.domains.graph.resolution_process import (
    OTHER_UNRESOLVED,
    UNRESOLVED,
    ResolvingSession,
    Unresolved,
    resolve_in_child,
)
from deltos.garbage_collection import garbage_collection_paused
from deltos.store.graph import FILE_ADDED, INTERFACE_CHANGED, FactRecord, ResolutionRecord, StaleFile

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from deltos.domains.graph.kernel.resolver import Resolution
    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.graph_writer import GraphWriter
    from deltos.store.project_writer import ProjectWriter
    from deltos.store.symbols import Symbol
    from deltos.workspace.indexer import ParsedFile, SyncChanges


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """Symbols and encoded facts of one file, as stored in the graph."""

    symbols: tuple[Symbol, ...]
    facts: FactRecord


class GraphIndexer:
    """Implements `workspace.indexer.Indexer` for the code graph."""

    name = "graph"
    reads_generated = True
    version = 29

    def extract(self, file: ParsedFile) -> GraphFacts:
        """Return the symbols and encoded facts of a file."""
        if is_manifest(file.path):
            return GraphFacts((), encode(MANIFEST_LANGUAGE, manifest_facts(file.data)))
        language = file.language.name if file.language is not None else ""
        facts = (resolver_of(language) or DEFINITIONS_ONLY).extract(file)
        if is_package_manifest(file.path):
            facts = replace(facts, interface=declared_package(file.path, file.data))
        announces = language in DECLARED_LANGUAGES
        return GraphFacts(_first_symbols_by_key(facts.symbols), encode(language, facts, announces_names=announces))

    def write(self, store: ProjectWriter, file_id: int, path: str, facts: GraphFacts) -> int:  # noqa: ARG002
        """Store the facts of a new or changed file and return the number of its symbols."""
        store.graph.write_facts(path, facts.symbols, facts.facts)
        return len(facts.symbols)

    def remove(self, store: ProjectWriter, file_id: int) -> None:
        """Do nothing, because `write` compares changed files with the store and `finish` removes deleted files."""

    def finish(self, store: ProjectWriter, changes: SyncChanges, workers: ProcessPool | None) -> None:
        """Resolve changed files and every file that depends on an added, changed or removed interface."""
        writer = store.graph
        writer.preload_path_ids()
        unresolved_file_removed = any(writer.depends_on(path, UNRESOLVED) for path in changes.removed)
        for path in changes.removed:
            writer.remove_file(path)
        languages = writer.languages()
        affected = _affected_files(writer, changes.removed)
        if unresolved_file_removed or any(writer.depends_on(path, UNRESOLVED) for path in affected):
            affected = sorted({*affected, *writer.dependants([OTHER_UNRESOLVED])})
        unresolved: list[Unresolved] = []
        found: Iterable[ResolutionRecord | Unresolved]
        for number, family in enumerate(FAMILIES):
            paths = [path for path in affected if languages.get(path) in family.languages]
            if not paths:
                continue
            if workers is None:
                facts = StoredProjectFacts(writer.facts(), languages)
                found = map(_resolution_record, family.resolver().resolve(facts, paths))
            else:
                pending = writer.pending_facts(changes.pending)
                session = ResolvingSession(writer.fact_source(), languages, pending, number, sorted(paths))
                found = resolve_in_child(workers, session)
            with garbage_collection_paused():
                for each in found:
                    if isinstance(each, Unresolved):
                        unresolved.append(each)
                    writer.write_resolution(each.to_record() if isinstance(each, Unresolved) else each)
        store.set_unresolved(self.name, affected, [(each.path, each.reason) for each in unresolved])
        writer.mark_all_resolved()


def _affected_files(writer: GraphWriter, removed: Collection[str]) -> list[str]:
    """Return the sorted paths of the files whose stored references may be stale."""
    unsettled = writer.stale_files()
    dirty = {*_dirty_names(unsettled, removed), *writer.stale_dependencies()}
    return sorted({file.path for file in unsettled} | writer.dependants(dirty))


def _dirty_names(unsettled: Iterable[StaleFile], removed: Iterable[str]) -> Iterator[str]:
    """Yield the names of stale dependencies.

    A dependency is stale if its interface changed or its file was added or removed.
    """
    for file in unsettled:
        if file.state >= INTERFACE_CHANGED:
            yield file.path
    added_or_removed = [*removed, *(file.path for file in unsettled if file.state == FILE_ADDED)]
    for path in added_or_removed:
        yield path
        for part in path.split("/"):
            yield files_named(part.partition(".")[0])
        yield files_with_suffix(path.rpartition("/")[2].partition(".")[2])


def _first_symbols_by_key(symbols: Iterable[Symbol]) -> tuple[Symbol, ...]:
    """Return the first symbol for each key."""
    found: dict[str, Symbol] = {}
    for symbol in symbols:
        found.setdefault(symbol.key, symbol)
    return tuple(found.values())


def _resolution_record(resolution: Resolution) -> ResolutionRecord:
    """Convert the result of resolving a file to the record that is stored."""
    return ResolutionRecord(
        resolution.path,
        resolution.edges,
        [(item.line, item.target_path, item.mode) for item in resolution.imports],
        resolution.dependencies,
        resolution.external_imports,
        resolution.unresolved_imports,
    )
