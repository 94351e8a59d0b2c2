"""What the code graph keeps: facts of files, and the edges and imports that resolving them gave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.symbols import Symbol

# What has to be settled about a file's facts; higher includes lower.
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
    """A resolved reference, as the domain has it; with an empty path, a mention of a bare name."""

    @property
    def line(self) -> int: ...
    @property
    def source_key(self) -> str: ...
    @property
    def target_path(self) -> str: ...
    @property
    def target_key(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def certain(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class ResolutionRecord:
    """Everything that resolving one file gave."""

    path: str
    edges: Sequence[EdgeRecord]
    imports: Sequence[tuple[int, str, str]]
    dependencies: Collection[str]
    external_imports: int
    unresolved_imports: int


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A file whose facts changed since the graph was last resolved."""

    path: str
    language: str
    state: int


@dataclass(frozen=True, slots=True)
class PendingFacts:
    """What a transaction changed and others do not see yet: interface and body of files (None of those that went), and
    path, key and kind of their symbols by name."""

    facts: dict[str, tuple[bytes | None, bytes | None]]
    symbols: dict[str, list[tuple[str, str, str]]]


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """One place that refers to a symbol; `source_key` is the definition around it, empty at the top of a file."""

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
    """That one file imports another, and when it takes effect."""

    path: str
    target: str
    line: int
    mode: str


@dataclass(frozen=True, slots=True)
class Links:
    """Source and target of references, each pair once, with their kind and whether one is certain. `is_partial`: there
    are more."""

    pairs: dict[tuple[int, int], tuple[str, bool]]
    is_partial: bool


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """How large the graph is and how much of it is resolved."""

    files_by_language: dict[str, tuple[int, int]]
    symbols_by_kind: dict[str, int]
    edges_by_kind: dict[str, int]
    possible: int
    imports: int
    external_imports: int
    unresolved_imports: int


class FactReader(Protocol):
    """The encoded facts of files, as one process sees them."""

    def interface(self, path: str) -> bytes | None:
        """The encoded interface of a file; None when the file is unknown."""

    def body(self, path: str) -> bytes | None:
        """The encoded body of a file; None when the file is unknown."""

    def symbols_named(self, name: str) -> list[tuple[str, str, str]]:
        """Path, key and kind of every symbol of a name."""


class FactSource(Protocol):
    """Where another process finds the facts that are committed; survives pickling."""

    def reader(self) -> FactReader:
        """Reads them in this process."""


class GraphWriter(Protocol):
    """Writes the graph inside one transaction; remembers ids so that each is looked up once."""

    def load_places(self) -> None:
        """Look all paths up at once: cheaper than one by one when most of them are needed."""

    def write_facts(self, path: str, symbols: Sequence[Symbol], facts: FactRecord) -> None:
        """Replace a file's symbols and facts, noting what about them has to be settled."""

    def remove_file(self, path: str) -> None:
        """Forget all that a vanished file said. Edges into it stay until those files are resolved again."""

    def stale_names(self) -> list[str]:
        """The dependencies that went stale since the last resolution."""

    def unsettled(self) -> list[Unsettled]:
        """The files whose facts changed since the last resolution."""

    def languages(self) -> dict[str, str]:
        """Every file of the graph and its language."""

    def dependants(self, dependencies: Iterable[str]) -> set[str]:
        """The files whose resolution depended on any of the given files or names, and a few more by chance."""

    def depends(self, path: str, dependency: str) -> bool:
        """Whether the resolution of one file depended on a name; perhaps also where it did not."""

    def facts(self) -> FactReader:
        """The facts as this transaction has them."""

    def fact_source(self) -> FactSource:
        """Where others find the facts; they do not see what this transaction changed."""

    def pending(self, paths: Iterable[str]) -> PendingFacts:
        """The facts of some files as this transaction has them, for those who do not see it."""

    def write_resolution(self, resolution: ResolutionRecord) -> None:
        """Replace the edges and imports of one file."""

    def settle(self) -> None:
        """Mark every file as resolved: those without a resolver have nothing to settle."""


class StoredFacts(Protocol):
    """The facts of a project as they are kept, for those who resolve files of others against them."""

    def languages(self) -> dict[str, str]:
        """Every file of the graph and its language."""

    def facts(self) -> FactReader:
        """The facts, as this thread sees them."""

    def fact_source(self) -> FactSource:
        """Where another process finds them."""

    def dependants_by_name(self, dependencies: Iterable[str]) -> dict[str, list[str]]:
        """The files whose resolution depended on each of the given names, and a few more by chance; names that nothing
        depended on are left out."""


class FileImports(Protocol):
    """Which files need which."""

    def imports_of(self, paths: Sequence[str]) -> dict[str, set[str]]:
        """The files of the project that each of some files imports; those that import none are left out."""


class Graph(FileImports, StoredFacts, Protocol):
    """Questions to one project's graph: symbols by name or place, edges in and out, imports, counts."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Several reads that see one state, whatever is written meanwhile."""

    def symbols_named(self, name: str, *, any_case: bool = False) -> list[Symbol]:
        """All definitions of a name."""

    def symbols_in(self, path: str) -> list[Symbol]:
        """All definitions of a file, from top to bottom."""

    def symbols(self, node_ids: Iterable[int]) -> dict[int, Symbol]:
        """Definitions by id; what is not defined in the project is left out."""

    def symbols_at(self, places: Iterable[tuple[str, str]]) -> list[Symbol]:
        """Definitions by path and key; what is not defined there is left out."""

    def names(self) -> list[str]:
        """Every defined name, once."""

    def paths(self) -> list[str]:
        """Every file of the graph."""

    def module_node(self, path: str) -> int | None:
        """The id that stands for a file as a module; None when nothing refers to it or from its top level."""

    def nodes(self, node_ids: Iterable[int]) -> dict[int, tuple[str, str]]:
        """Path and key of nodes, defined or not."""

    def references(self, node_ids: Iterable[int]) -> list[ReferenceRow]:
        """Every place that refers to any of the symbols, by file and line."""

    def overridden(self, node_ids: Iterable[int]) -> set[int]:
        """What the definitions override, or add another declaration to."""

    def overriding(self, node_ids: Iterable[int]) -> set[int]:
        """What overrides the definitions, or declares them again."""

    def subclasses(self, node_ids: Iterable[int]) -> set[int]:
        """What surely inherits from any of the definitions, directly."""

    def declared_again(self, path: str, line: int) -> list[Symbol]:
        """The definitions that a line only declares once more: an overload's signature."""

    def outgoing(self, path: str, node_ids: Sequence[int]) -> list[ReferenceRow]:
        """Everything that the given definitions of one file refer to."""

    def reference_counts(self, node_ids: Iterable[int]) -> dict[int, int]:
        """How many places refer to each symbol."""

    def users(self, *, limit: int, below: str = "") -> dict[int, int]:
        """The symbols that most other files refer to, each with how many do; most used first. `below`: only those of a
        file, or of the files of a folder."""

    def mentions(self, name: str) -> list[ReferenceRow]:
        """Places that use a name on a value of unknown type."""

    def imports(self) -> list[ImportRow]:
        """Every import of one file of the project by another."""

    def most_used(self, *, limit: int) -> list[Symbol]:
        """The symbols that most places refer to, without signature and documentation; most used first."""

    def links(self, *, limit: int) -> Links:
        """Which node refers to which, by the first `limit` places that refer to anything."""

    def counts(self) -> GraphCounts:
        """The size of the graph."""

    def symbol_count(self) -> int:
        """How many symbols there are."""
