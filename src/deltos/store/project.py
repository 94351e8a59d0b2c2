"""Protocols and rows of one project: indexed files, skipped files, and facts about the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from deltos.store.code import Code, CodeWriter
    from deltos.store.graph import Graph, GraphWriter
    from deltos.store.history import History, HistoryWriter

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SeenStamp:
    """Size and modification time of a file when it was last read; `seen_at_ns` is the clock just before that."""

    size: int
    mtime_ns: int
    seen_at_ns: int


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as it was indexed."""

    id: int
    path: str
    hash: bytes
    stamp: SeenStamp


@dataclass(frozen=True, slots=True)
class FileRecord:
    """The row to write for an indexed file."""

    path: str
    language: str
    lines: int
    hash: bytes
    stamp: SeenStamp
    content: bytes = b""  # compressed, if the store keeps contents
    is_generated: bool = False  # not searchable; its definitions and references are in the graph


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that is not indexed, and why. An unreadable file has a `hash`, and `failure` is the error."""

    path: str
    reason: str
    stamp: SeenStamp
    hash: bytes = b""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file that an indexer could not read; an empty `indexer` means that no indexer could."""

    path: str
    indexer: str
    reason: str


@dataclass(frozen=True, slots=True)
class KnownIndex:
    """An existing index and its project. `place` is its location for the user, `history` a summary of the indexed
    history."""

    place: str
    size_bytes: int
    root: Path
    project_id: str
    synced_at: float
    files: int
    failures: list[FailedFile]
    history: str = ""
    has_contents: bool = False  # source lines can be shown without the checkout
    is_finished: bool = True  # indexing has completed at least once


@dataclass(frozen=True, slots=True)
class SetAside:
    """A damaged store that was moved out of the way; `place` is its location for the user."""

    place: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """Facts about an index, all of one state.

    `is_complete` says that indexing has completed at least once, `synced_at` changes with every comparison with the
    disk that wrote something, `indexers` are names and versions of the indexers, `notes` describe what the list of
    files lacks, and `failures` are unreadable files.
    """

    is_complete: bool = False
    synced_at: str = ""
    indexers: str = ""
    notes: tuple[str, ...] = ()
    failures: tuple[FailedFile, ...] = ()

    @classmethod
    def of(cls, recorded: Mapping[str, str], failures: Iterable[FailedFile]) -> IndexFacts:
        """Build the facts from values recorded under `FACT_KEYS`."""
        complete, synced_at, indexers, notes = (recorded.get(key, "") for key in FACT_KEYS)
        return cls(bool(complete), synced_at, indexers, tuple(notes.splitlines()), tuple(failures))


FACT_KEYS = ("complete", "synced_at", "indexers", "notes")


@dataclass(frozen=True, slots=True)
class ProjectTotals:
    """Number of searchable files and lines, by language, and of skipped files by reason."""

    files: int
    lines: int
    languages: dict[str, int]
    skipped: dict[str, int]


class ProjectFiles(Protocol):
    """Files of one project, skipped files, and facts about the index."""

    @property
    def keeps_contents(self) -> bool:
        """Whether the contents of indexed files are stored too."""

    def contents(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Return stored contents of indexed files by path, as UTF-8; files without stored content are left out."""

    def facts(self) -> IndexFacts:
        """Return the facts that every answer needs, read in one query."""

    def meta(self, key: str) -> str:
        """Return a recorded fact; empty if it was never recorded."""

    def files(self) -> dict[str, StoredFile]:
        """Return all indexed files by path."""

    def file(self, path: str) -> StoredFile | None:
        """Return one indexed file."""

    def skipped(self) -> dict[str, SkippedFile]:
        """Return all skipped files by path."""

    def failures(self) -> list[FailedFile]:
        """Return unreadable files, by path and indexer."""

    def stamps(self) -> dict[str, SeenStamp]:
        """Return the stamps of all files, indexed or skipped, by path."""

    def folders(self) -> dict[str, int]:
        """Return the modification time of each folder as seen by the last walk; 0 if it cannot be trusted."""

    def file_count(self) -> int:
        """Return the number of searchable files."""

    def generated(self) -> frozenset[str]:
        """Return the paths of generated files, which are indexed but not searchable."""

    def totals(self) -> ProjectTotals:
        """Return searchable files by language, and skipped and generated files by reason."""


class ProjectWriter(Protocol):
    """One transaction of a project, rolled back as a whole unless `commit_step` is used."""

    @property
    def code(self) -> CodeWriter:
        """Writer of code search data."""

    @property
    def graph(self) -> GraphWriter:
        """Writer of the code graph; a new object on each access, which shares no state with earlier ones."""

    @property
    def history(self) -> HistoryWriter:
        """Writer of the repository's history."""

    def commit_step(self) -> None:
        """Commit all writes so far and continue in a new transaction."""

    def savepoint(self) -> AbstractContextManager[None]:
        """Return a context that rolls back only its own writes on an error."""

    def set_metadata(self, values: dict[str, str]) -> None:
        """Store metadata of the index as key-value pairs."""

    def add_file(self, record: FileRecord) -> int:
        """Insert the row of a file and return its id."""

    def remove_file(self, file_id: int) -> None:
        """Delete the row of a file and its failures."""

    def touch_file(self, file_id: int, stamp: SeenStamp) -> None:
        """Record a new stamp of a file whose content is unchanged."""

    def set_unfinished(self, indexer: str, reason: str) -> None:
        """Record why an indexer could not finish its work across files; an empty reason clears it."""

    def set_skipped(self, file: SkippedFile) -> None:
        """Record a file that is not indexed."""

    def add_failures(self, file_id: int, reasons: Iterable[tuple[str, str]]) -> None:
        """Record the indexers that could not read a file, each with its reason."""

    def forget_skipped(self, paths: Iterable[str]) -> None:
        """Remove files from the list of skipped ones."""

    def set_folders(self, folders: dict[str, int]) -> None:
        """Replace the list of folders and their stamps."""

    def set_unresolved(self, indexer: str, tried: Iterable[str], unresolved: Iterable[tuple[str, str]]) -> None:
        """Record which of the `tried` files an indexer could not resolve, each with its reason."""


class ProjectStore(ProjectFiles, Protocol):
    """Everything stored for one project."""

    @property
    def name(self) -> str:
        """Name of the store in the data folder."""

    @property
    def code(self) -> Code:
        """Code search data."""

    @property
    def graph(self) -> Graph:
        """The code graph."""

    @property
    def history(self) -> History:
        """The commits of the repository."""

    @property
    def set_aside(self) -> str:
        """Name of the damaged file that was replaced by an empty one; empty if there was none."""

    def writing(self) -> AbstractContextManager[ProjectWriter]:
        """Return a context for one transaction, which takes the write lock at once."""

    def run_with_repair(self, work: Callable[[], _T]) -> _T:
        """Run `work` and return its result; if the store is damaged, replace it by an empty one and run
        `work` again."""

    def try_lock(self, part: str = "") -> AbstractContextManager[bool]:
        """Return a context that yields whether this process now holds the indexing lock.

        The lock ends with the block or the process. `part` names work that is indexed separately from the files.
        """

    def release(self) -> None:
        """Close the resources of this thread; call it before the thread ends."""

    def close(self) -> None:
        """Close the store."""


class ProjectStores(Protocol):
    """The stores of all projects of a data folder."""

    @property
    def keep_contents(self) -> bool:
        """Whether contents of files are stored, so that source lines can be shown without the checkout."""

    def sweep(self) -> int:
        """Delete contents that no file refers to, and return how many."""

    def store_of(self, root: Path) -> ProjectStore:
        """Return the store of the project at a folder, creating it if needed."""

    def known(self, *, with_unfinished: bool = False) -> list[KnownIndex]:
        """Return every indexed project, most recently synchronised first; unreadable indexes are left out.

        With `with_unfinished`, projects whose first indexing has not finished follow at the end.
        """

    def roots_with_store(self, roots: Sequence[Path]) -> set[Path]:
        """Return the folders that have a store, even an unfinished one."""

    def remove(self, root: Path) -> None:
        """Delete the store of the project at a folder; raise StoreBusy while it is being indexed."""

    def set_aside(self) -> list[SetAside]:
        """Return the damaged stores that were replaced by empty ones."""

    def remove_set_aside(self, place: str) -> None:
        """Delete one damaged store that was set aside."""
