"""Protocols and row types of the code graph: facts of files, and the edges and imports resolved from the facts.

The facts of a file are the definitions, imports and uses of names that the parser found in the file. They consist of
the interface (definitions that other files may use) and the body (everything else). Resolving a file finds the
definitions that the file uses, also in other files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.symbols import Symbol

# How much the facts of a file changed since references were last resolved, in ascending order.
UNCHANGED, BODY_CHANGED, INTERFACE_CHANGED, FILE_ADDED = range(4)


@dataclass(frozen=True, slots=True)
class FactRecord:
    """The encoded facts of one file: the interface (definitions that other files may use) and the body.

    `parts` contains a digest of each definition in the interface, by name.
    """

    language: str
    interface_hash: bytes
    interface: bytes
    body: bytes
    parts: Mapping[str, bytes] = field(default_factory=dict)
    # Whether all files that use a name defined in this file are resolved again after a change of the interface.
    announces_names: bool = False


class EdgeRecord(Protocol):
    """A resolved reference, or a mention: a member name (such as `run` in `x.run()`) of a value of unknown type."""

    @property
    def line(self) -> int:
        """Line of the reference."""

    @property
    def source_key(self) -> str:
        """Key of the enclosing definition, or an empty string at module level."""

    @property
    def target_path(self) -> str:
        """Path of the file that defines the target, or an empty string for a mention."""

    @property
    def target_key(self) -> str:
        """Key of the target definition, or the name of a mention."""

    @property
    def kind(self) -> str:
        """Kind of reference, such as call, import or inherit."""

    @property
    def origin(self) -> str:
        """Name of the rule that resolved the reference."""

    @property
    def certain(self) -> bool:
        """Whether the reference was resolved with certainty."""


@dataclass(frozen=True, slots=True)
class ResolutionRecord:
    """The references and imports of one file after resolution, and the files and names on which the result depends."""

    path: str
    edges: Sequence[EdgeRecord]
    imports: Sequence[tuple[int, str, str]]
    dependencies: Collection[str]
    external_imports: int
    unresolved_imports: int


@dataclass(frozen=True, slots=True)
class StaleFile:
    """A file whose facts changed since references were last resolved. `state` is a constant such as BODY_CHANGED."""

    path: str
    language: str
    state: int


@dataclass(frozen=True, slots=True)
class PendingFacts:
    """Facts of files that a transaction has not committed yet, to be sent to worker processes.

    `facts` contains the encoded interface and body of each file by path, or None and None for a deleted file. `symbols`
    contains (path, key, kind) by name.
    """

    facts: dict[str, tuple[bytes | None, bytes | None]]
    symbols: dict[str, list[tuple[str, str, str]]]


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """One reference to a symbol. `source_key` is the key of the enclosing definition: empty at module level."""

    path: str
    line: int
    source_key: str
    kind: str
    origin: str
    certain: bool
    source_id: int
    target_id: int


@dataclass(frozen=True, slots=True)
class ImportRow:
    """An import of one file by another. `mode` is `runtime`, `type` or `deferred`."""

    path: str
    target: str
    line: int
    mode: str


@dataclass(frozen=True, slots=True)
class Links:
    """Distinct (source, target) pairs of references, with kind and certainty.

    `is_partial` is true if the limit on references was reached, so that pairs may be missing.
    """

    pairs: dict[tuple[int, int], tuple[str, bool]]
    is_partial: bool


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """Numbers of files, symbols, edges and imports in the graph.

    `possible` counts the references that were not resolved with certainty. `imports` counts the lines that import
    files of the project.
    """

    files_by_language: dict[str, tuple[int, int]]
    symbols_by_kind: dict[str, int]
    edges_by_kind: dict[str, int]
    possible: int
    imports: int
    external_imports: int
    unresolved_imports: int


class FactReader(Protocol):
    """Reader of the encoded facts of files, for use in one process. For the facts of a file, see `FactRecord`."""

    def interface(self, path: str) -> bytes | None:
        """Return the encoded interface of a file (definitions that other files may use), or None if it is unknown."""

    def body(self, path: str) -> bytes | None:
        """Return the encoded facts of a file that are not in the interface, or None for an unknown file."""

    def symbols_named(self, name: str) -> list[tuple[str, str, str]]:
        """Return the path, key and kind of every symbol with this name."""


class FactSource(Protocol):
    """Picklable location of the committed facts, from which another process can read them."""

    def reader(self) -> FactReader:
        """Return a reader of the facts for this process."""


class GraphWriter(Protocol):
    """Writer of the graph within one transaction. It caches the ids of paths and symbols."""

    def preload_path_ids(self) -> None:
        """Preload the ids of all paths. This is faster than single lookups if most paths are needed."""

    def write_facts(self, path: str, symbols: Sequence[Symbol], facts: FactRecord) -> None:
        """Replace the symbols and facts of a file, and record changed names on which other files depend."""

    def remove_file(self, path: str) -> None:
        """Delete all facts of a file. Edges from other files remain until those files are resolved again."""

    def stale_dependencies(self) -> list[str]:
        """Return the names and files that changed since references were last resolved, so that dependants are stale."""

    def stale_files(self) -> list[StaleFile]:
        """Return the files whose facts changed since references were last resolved."""

    def languages(self) -> dict[str, str]:
        """Return the language of every file in the graph."""

    def dependants(self, dependencies: Iterable[str]) -> set[str]:
        """Return the files whose resolved references depend on any of the given files or names.

        Checksum collisions may add a few other files.
        """

    def depends_on(self, path: str, dependency: str) -> bool:
        """Whether the resolved references of a file depend on a name. Checksum collisions may cause false positives."""

    def facts(self) -> FactReader:
        """Return a reader of the facts as this transaction sees them."""

    def fact_source(self) -> FactSource:
        """Return a picklable source of the committed facts for other processes."""

    def pending_facts(self, paths: Iterable[str]) -> PendingFacts:
        """Return the uncommitted facts of the given files for worker processes."""

    def write_resolution(self, resolution: ResolutionRecord) -> None:
        """Replace the edges and imports of one file."""

    def mark_all_resolved(self) -> None:
        """Mark every file as resolved, including files in languages whose references cannot be resolved."""


class StoredFacts(Protocol):
    """Facts of a project, which are used to resolve references from other projects."""

    def languages(self) -> dict[str, str]:
        """Return the language of every file in the graph."""

    def facts(self) -> FactReader:
        """Return a reader of the facts as this thread sees them."""

    def fact_source(self) -> FactSource:
        """Return a picklable source of the facts for other processes."""

    def dependants_by_name(self, dependencies: Iterable[str]) -> dict[str, list[str]]:
        """Return the files whose resolved references depend on each name. Names without such files are omitted.

        Checksum collisions may add a few other files.
        """


class FileImports(Protocol):
    """Imports between files."""

    def imports_of(self, paths: Sequence[str]) -> dict[str, set[str]]:
        """Return the project files that each given file imports. Files without imports are omitted."""


class Graph(FileImports, StoredFacts, Protocol):
    """Queries on the graph of one project: symbols by name or position, references, imports and counts."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context manager within which all reads see the same state."""

    def symbols_named(self, name: str, *, any_case: bool = False) -> list[Symbol]:
        """Return all definitions with this name."""

    def symbols_in(self, path: str) -> list[Symbol]:
        """Return all definitions of a file from top to bottom."""

    def symbols(self, node_ids: Iterable[int]) -> dict[int, Symbol]:
        """Return definitions by node id. Nodes that the project does not define are omitted."""

    def symbols_at(self, locations: Iterable[tuple[str, str]]) -> list[Symbol]:
        """Return definitions by (path, key). Keys without a definition are omitted."""

    def defined_names(self) -> list[str]:
        """Return every distinct defined name."""

    def paths(self) -> list[str]:
        """Return the paths of all files in the graph."""

    def module_node(self, path: str) -> int | None:
        """Return the id of the node that represents a file as a module, or None if the graph has no such node."""

    def nodes(self, node_ids: Iterable[int]) -> dict[int, tuple[str, str]]:
        """Return the path and key of each node, including nodes without a definition."""

    def references(self, node_ids: Iterable[int]) -> list[ReferenceRow]:
        """Return every reference to any of the symbols, ordered by file and line."""

    def overridden_ids(self, node_ids: Iterable[int]) -> set[int]:
        """Return the node ids of the symbols that the definitions override or redeclare."""

    def overriding_ids(self, node_ids: Iterable[int]) -> set[int]:
        """Return the node ids of the symbols that override or redeclare the definitions."""

    def subclasses(self, node_ids: Iterable[int]) -> set[int]:
        """Return the node ids of the direct subclasses of the definitions that were resolved with certainty."""

    def redeclared_by_line(self, path: str, line: int) -> list[Symbol]:
        """Return the definitions that a line declares again, such as the function whose overload is on this line."""

    def outgoing_references(self, path: str, node_ids: Sequence[int]) -> list[ReferenceRow]:
        """Return all references within the given definitions of one file."""

    def reference_counts(self, node_ids: Iterable[int]) -> dict[int, int]:
        """Return the number of references to each symbol that were resolved with certainty."""

    def referring_file_counts(self, *, limit: int, below: str = "") -> dict[int, int]:
        """Return the number of other files that refer to a symbol, for the most widely used symbols, most used first.

        `below` limits the symbols to a file or a folder.
        """

    def mentions(self, name: str) -> list[ReferenceRow]:
        """Return the uses of a name as a member of a value of unknown type."""

    def imports(self) -> list[ImportRow]:
        """Return every import of one project file by another."""

    def most_referenced_symbols(self, *, limit: int) -> list[Symbol]:
        """Return the symbols with the most references, most used first, without signature and documentation."""

    def links(self, *, limit: int) -> Links:
        """Return the distinct (source, target) node pairs among the first `limit` references."""

    def counts(self) -> GraphCounts:
        """Return the numbers of files, symbols, edges and imports."""

    def symbol_count(self) -> int:
        """Return the number of symbols."""
