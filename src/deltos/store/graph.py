"""Protocols and row types of the code graph: facts of files, and the edges and imports resolved from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.symbols import Symbol

# How much of a file's facts changed since they were last resolved. A higher value includes the lower values.
SETTLED, BODY_CHANGED, INTERFACE_CHANGED, APPEARED = range(4)


@dataclass(frozen=True, slots=True)
class FactRecord:
    """The encoded facts of one file."""

    language: str
    interface_hash: bytes
    interface: bytes
    body: bytes
    parts: Mapping[str, bytes] = field(default_factory=dict)
    announces_names: bool = False


class EdgeRecord(Protocol):
    """A resolved reference. If `target_path` is empty, it is a mention of a name on a value of unknown type."""

    @property
    def line(self) -> int:
        """Line of the reference."""

    @property
    def source_key(self) -> str:
        """Key of the definition that contains the reference, or an empty string at module level."""

    @property
    def target_path(self) -> str:
        """Path of the target's file, or an empty string for a mention."""

    @property
    def target_key(self) -> str:
        """Key of the target, or the mentioned name."""

    @property
    def kind(self) -> str:
        """Kind of reference, such as call, import or inherit."""

    @property
    def origin(self) -> str:
        """Rule that resolved the reference."""

    @property
    def certain(self) -> bool:
        """Whether the target is certain."""


@dataclass(frozen=True, slots=True)
class ResolutionRecord:
    """The result of resolving one file."""

    path: str
    edges: Sequence[EdgeRecord]
    imports: Sequence[tuple[int, str, str]]
    dependencies: Collection[str]
    external_imports: int
    unresolved_imports: int


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A file whose facts changed since the graph was last resolved. `state` says how much they changed."""

    path: str
    language: str
    state: int


@dataclass(frozen=True, slots=True)
class PendingFacts:
    """Uncommitted facts of a transaction, for processes that cannot see the transaction.

    `facts` are (interface, body) by path, both None for a deleted file. `symbols` are (path, key, kind) by name.
    """

    facts: dict[str, tuple[bytes | None, bytes | None]]
    symbols: dict[str, list[tuple[str, str, str]]]


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """One reference to a symbol. `source_key` is the definition that contains it, or empty at module level."""

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
    """An import of one file by another. `mode` says when the import takes effect."""

    path: str
    target: str
    line: int
    mode: str


@dataclass(frozen=True, slots=True)
class Links:
    """Distinct (source, target) pairs of references, with kind and certainty. If `is_partial`, there are more pairs."""

    pairs: dict[tuple[int, int], tuple[str, bool]]
    is_partial: bool


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """Size of the graph, and the number of resolved and unresolved parts."""

    files_by_language: dict[str, tuple[int, int]]
    symbols_by_kind: dict[str, int]
    edges_by_kind: dict[str, int]
    possible: int
    imports: int
    external_imports: int
    unresolved_imports: int


class FactReader(Protocol):
    """Reader of the encoded facts of files, for use in one process."""

    def interface(self, path: str) -> bytes | None:
        """Return the encoded interface of a file, or None if the file is unknown."""

    def body(self, path: str) -> bytes | None:
        """Return the encoded body of a file, or None if the file is unknown."""

    def symbols_named(self, name: str) -> list[tuple[str, str, str]]:
        """Return the path, key and kind of every symbol with this name."""


class FactSource(Protocol):
    """Picklable description of where another process can read the committed facts."""

    def reader(self) -> FactReader:
        """Return a reader for use in this process."""


class GraphWriter(Protocol):
    """Writer of the graph within one transaction. It caches ids, so that each is looked up only once."""

    def load_places(self) -> None:
        """Load the ids of all paths at once, which is faster than single lookups if most of them are needed."""

    def write_facts(self, path: str, symbols: Sequence[Symbol], facts: FactRecord) -> None:
        """Replace the symbols and facts of a file, and record stale dependencies."""

    def remove_file(self, path: str) -> None:
        """Delete all facts of a file. Edges to it remain until the files that contain them are resolved again."""

    def stale_names(self) -> list[str]:
        """Return the dependencies that became stale since the last resolution."""

    def unsettled(self) -> list[Unsettled]:
        """Return the files whose facts changed since the last resolution."""

    def languages(self) -> dict[str, str]:
        """Return the language of every file in the graph."""

    def dependants(self, dependencies: Iterable[str]) -> set[str]:
        """Return the files whose resolution depended on any of the given files or names.

        The result may contain a few more files, because dependencies are stored as checksums.
        """

    def depends(self, path: str, dependency: str) -> bool:
        """Whether the resolution of a file depended on a name. True may be wrong, because checksums may collide."""

    def facts(self) -> FactReader:
        """Return a reader of the facts as this transaction sees them."""

    def fact_source(self) -> FactSource:
        """Return a description from which other processes can read the committed facts."""

    def pending(self, paths: Iterable[str]) -> PendingFacts:
        """Return the uncommitted facts of the given files, for sending them to other processes."""

    def write_resolution(self, resolution: ResolutionRecord) -> None:
        """Replace the edges and imports of one file."""

    def settle(self) -> None:
        """Mark every file as resolved, including files of languages without a resolver."""


class StoredFacts(Protocol):
    """Facts of a project, against which files of other projects are resolved."""

    def languages(self) -> dict[str, str]:
        """Return the language of every file in the graph."""

    def facts(self) -> FactReader:
        """Return a reader of the facts as this thread sees them."""

    def fact_source(self) -> FactSource:
        """Return a description from which another process can read the facts."""

    def dependants_by_name(self, dependencies: Iterable[str]) -> dict[str, list[str]]:
        """Return the files whose resolution depended on each given name. Names without dependants are omitted.

        The result may contain a few more files, because dependencies are stored as checksums.
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
        """Return definitions by node id. Nodes without a definition in the project are omitted."""

    def symbols_at(self, places: Iterable[tuple[str, str]]) -> list[Symbol]:
        """Return definitions by (path, key). Keys without a definition are omitted."""

    def names(self) -> list[str]:
        """Return every distinct defined name."""

    def paths(self) -> list[str]:
        """Return the paths of all files in the graph."""

    def module_node(self, path: str) -> int | None:
        """Return the id of the node that represents a file as a module, or None if it has no references."""

    def nodes(self, node_ids: Iterable[int]) -> dict[int, tuple[str, str]]:
        """Return the path and key of each node, even if it has no definition."""

    def references(self, node_ids: Iterable[int]) -> list[ReferenceRow]:
        """Return every reference to any of the symbols, ordered by file and line."""

    def overridden(self, node_ids: Iterable[int]) -> set[int]:
        """Return the symbols that the definitions override or redeclare."""

    def overriding(self, node_ids: Iterable[int]) -> set[int]:
        """Return the symbols that override or redeclare the definitions."""

    def subclasses(self, node_ids: Iterable[int]) -> set[int]:
        """Return the certain direct subclasses of the definitions."""

    def declared_again(self, path: str, line: int) -> list[Symbol]:
        """Return the definitions that a line only redeclares, such as the signature of an overload."""

    def outgoing(self, path: str, node_ids: Sequence[int]) -> list[ReferenceRow]:
        """Return all references made by the given definitions of one file."""

    def reference_counts(self, node_ids: Iterable[int]) -> dict[int, int]:
        """Return the number of certain references to each symbol."""

    def users(self, *, limit: int, below: str = "") -> dict[int, int]:
        """Return the symbols that the most other files refer to, with the number of these files, most used first.

        `below` limits the symbols to a file or to the files in a folder.
        """

    def mentions(self, name: str) -> list[ReferenceRow]:
        """Return uses of a name on values of unknown type."""

    def imports(self) -> list[ImportRow]:
        """Return every import of one project file by another."""

    def most_used(self, *, limit: int) -> list[Symbol]:
        """Return the symbols with the most references, most used first, without signature and documentation."""

    def links(self, *, limit: int) -> Links:
        """Return the pairs of referring and referenced nodes among the first `limit` references."""

    def counts(self) -> GraphCounts:
        """Return size and resolution counts of the graph."""

    def symbol_count(self) -> int:
        """Return the number of symbols."""
