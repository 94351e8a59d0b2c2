"""Protocols and row types of one project: indexed files, skipped files, and facts about the index."""

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
    """Size and modification time of a file when it was last read. `seen_at_ns` is a time just before reading."""

    size: int
    mtime_ns: int
    seen_at_ns: int


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An indexed file, with the hash of the indexed content, and the size and modification time (stamp)."""

    id: int
    path: str
    hash: bytes
    stamp: SeenStamp


@dataclass(frozen=True, slots=True)
class FileRecord:
    """Row to write for an indexed file."""

    path: str
    language: str
    lines: int
    hash: bytes
    stamp: SeenStamp
    content: bytes = b""  # compressed content, if the store keeps contents
    is_generated: bool = False  # not searchable, but definitions and references are in the graph


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that is not indexed, with the reason. For an unreadable file, `hash` is set and `failure` is the error."""

    path: str
    reason: str
    stamp: SeenStamp
    hash: bytes = b""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file that an indexer could not process, with the error. If `indexer` is empty, no indexer could process it."""

    path: str
    indexer: str
    reason: str


@dataclass(frozen=True, slots=True)
class KnownIndex:
    """An existing index and its project.

    `location` is the location of the index, for messages. `history` is a summary of the indexed history.
    """

    location: str
    size_bytes: int
    root: Path
    project_id: str
    synced_at: float
    files: int
    failures: list[FailedFile]
    history: str = ""
    has_contents: bool = False  # whether the index contains the files, so that the checkout is not needed
    is_finished: bool = True  # whether indexing has completed at least once
    repository: str = ""  # git folder shared by all worktrees of the repository


@dataclass(frozen=True, slots=True)
class DamagedStore:
    """A damaged index that was moved aside. `location` is the new location, for messages."""

    location: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """Facts about one state of an index.

    `is_complete` is true if indexing has completed at least once. `synced_at` changes whenever an update writes to the
    index. `indexers` are the names and versions of the indexers. `notes` describe gaps in the list of files, and
    `failures` are unreadable files.
    """

    is_complete: bool = False
    synced_at: str = ""
    indexers: str = ""
    notes: tuple[str, ...] = ()
    failures: tuple[FailedFile, ...] = ()

    @classmethod
    def from_recorded(cls, recorded: Mapping[str, str], failures: Iterable[FailedFile]) -> IndexFacts:
        """Create the facts from values recorded under the keys `FACT_KEYS`.

        A copied index has no `synced_at`. It is incomplete until the files have been compared with the disk.
        """
        complete, synced_at, indexers, notes = (recorded.get(key, "") for key in FACT_KEYS)
        return cls(bool(complete and synced_at), synced_at, indexers, tuple(notes.splitlines()), tuple(failures))


FACT_KEYS = ("complete", "synced_at", "indexers", "notes")


@dataclass(frozen=True, slots=True)
class ProjectTotals:
    """Numbers of searchable files and lines, of searchable files by language, and of skipped files by reason."""

    files: int
    lines: int
    languages: dict[str, int]
    skipped: dict[str, int]


class ProjectFiles(Protocol):
    """Indexed files and skipped files of one project, and facts about the index."""

    @property
    def keeps_contents(self) -> bool:
        """Whether the store contains the contents of indexed files."""

    def contents(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Return the stored contents of indexed files by path, encoded as UTF-8. Files without stored content are
        omitted."""

    def facts(self) -> IndexFacts:
        """Return the facts that every answer needs, using one query."""

    def meta(self, key: str) -> str:
        """Return a metadata value of the index, or an empty string if it was never recorded."""

    def files(self) -> dict[str, StoredFile]:
        """Return all indexed files by path."""

    def file(self, path: str) -> StoredFile | None:
        """Return the indexed file at a path, or None."""

    def skipped_files(self) -> dict[str, SkippedFile]:
        """Return all skipped files by path."""

    def failures(self) -> list[FailedFile]:
        """Return the unreadable files, ordered by path and indexer."""

    def stamps(self) -> dict[str, SeenStamp]:
        """Return the sizes and modification times (stamps) of all indexed and skipped files by path."""

    def folder_times(self) -> dict[str, int]:
        """Return the modification time of each folder when files were last listed, or 0 if the time is not reliable."""

    def file_count(self) -> int:
        """Return the number of searchable files."""

    def generated_paths(self) -> frozenset[str]:
        """Return the paths of generated files, which are indexed but not searchable."""

    def totals(self) -> ProjectTotals:
        """Return the numbers of searchable files by language, and of skipped and generated files by reason."""


class ProjectWriter(Protocol):
    """One write transaction of a project. On an error, changes since the last `commit_step` are rolled back."""

    @property
    def code(self) -> CodeWriter:
        """Writer of code search data."""

    @property
    def graph(self) -> GraphWriter:
        """Writer of the code graph. Each access returns a new object that shares no state with earlier objects."""

    @property
    def history(self) -> HistoryWriter:
        """Writer of the repository's history."""

    def commit_step(self) -> None:
        """Commit all writes so far and continue in a new transaction."""

    def savepoint(self) -> AbstractContextManager[None]:
        """Return a context manager that, on an error, rolls back only the writes within it."""

    def set_metadata(self, values: dict[str, str]) -> None:
        """Store metadata of the index as key-value pairs."""

    def add_file(self, record: FileRecord) -> int:
        """Insert the row of a file, and return the id of the row."""

    def remove_file(self, file_id: int) -> None:
        """Delete the row of a file and the recorded failures for this file."""

    def touch_file(self, file_id: int, stamp: SeenStamp) -> None:
        """Record the new size and modification time of a file whose content is unchanged."""

    def set_unfinished(self, indexer: str, reason: str) -> None:
        """Record why an indexer could not update data that spans several files. An empty reason clears the record."""

    def set_skipped(self, file: SkippedFile) -> None:
        """Record a file that is not indexed."""

    def add_failures(self, file_id: int, reasons: Iterable[tuple[str, str]]) -> None:
        """Record why indexers could not process a file. `reasons` contains (indexer, reason) pairs."""

    def forget_skipped(self, paths: Iterable[str]) -> None:
        """Remove files from the list of skipped files."""

    def set_folders(self, folders: dict[str, int]) -> None:
        """Replace the list of folders and their modification times."""

    def set_unresolved(self, indexer: str, tried: Iterable[str], unresolved: Iterable[tuple[str, str]]) -> None:
        """Record which of the `tried` files an indexer could not resolve, as (path, reason) pairs."""


class ProjectStore(ProjectFiles, Protocol):
    """Store of all data of one project."""

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
    def damaged_file(self) -> str:
        """Name of the damaged file that was replaced by an empty one, or an empty string."""

    def writing(self) -> AbstractContextManager[ProjectWriter]:
        """Return a context manager for one write transaction, which acquires the write lock at its start."""

    def run_with_repair(self, work: Callable[[], _T]) -> _T:
        """Run `work` and return its result.

        If the store is damaged, replace it by an empty one and run `work` again.
        """

    def try_lock(self, part: str = "") -> AbstractContextManager[bool]:
        """Return a context manager that yields whether this process acquired the indexing lock.

        The lock is released at the end of the block or process. `part` names data that is indexed separately, such as
        the history.
        """

    def release(self) -> None:
        """Close the resources of this thread. Call this before the thread ends."""

    def close(self) -> None:
        """Close the store."""


class ProjectStores(Protocol):
    """Stores of all projects in a data folder or database."""

    @property
    def keeps_contents(self) -> bool:
        """Whether file contents are stored, so that source lines can be shown without the checkout."""

    def delete_unused_contents(self) -> int:
        """Delete stored contents that no file refers to, and return the number of deleted contents."""

    def store_of(self, root: Path) -> ProjectStore:
        """Return the store of the project at a folder, creating it if needed."""

    def indexed_projects(self, *, with_unfinished: bool = False) -> list[KnownIndex]:
        """Return all indexed projects, most recently synchronised first. Unreadable indexes are omitted.

        If `with_unfinished` is true, projects whose first index is not finished follow at the end.
        """

    def roots_with_store(self, roots: Sequence[Path]) -> set[Path]:
        """Return those of the given folders that have a store, even if it is unfinished."""

    def copy_store(self, source: Path, root: Path) -> bool:
        """Copy the store of the project at `source` to the project at `root`. Return whether a store was created.

        The copy is unfinished until the files have been compared with the disk.
        """

    def remove(self, root: Path) -> None:
        """Delete the store of the project at a folder. Raise StoreBusy if the project is being indexed."""

    def damaged_stores(self) -> list[DamagedStore]:
        """Return the damaged stores that were replaced by empty ones."""

    def remove_damaged_store(self, location: str) -> None:
        """Delete one damaged store that was moved aside."""
