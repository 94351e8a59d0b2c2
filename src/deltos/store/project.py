"""Store and row types of one project: indexed files, skipped files, and facts about the index."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from deltos.store.code import Code
from deltos.store.graph import Graph
from deltos.store.history import History
from deltos.store.project_writer import ProjectWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from deltos.store.project_rows import ProjectRows
    from deltos.store.project_writer import Transaction

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


SELECT_FAILURES = """SELECT path, indexer, failure.reason FROM failure JOIN file ON file.id = file_id
               UNION ALL SELECT path, '', failure FROM skipped WHERE failure <> ''
               UNION ALL SELECT 'all files', substr(key, 12), value FROM meta
               WHERE key >= 'unfinished/' AND key < 'unfinished0'"""
_LARGE_VALUE_KEYS = ("listing",)  # metadata keys whose values grow with the project
_STAMP = "size, mtime_ns, seen_at_ns"


class ProjectFiles(ABC):
    """Indexed files and skipped files of one project, and facts about the index."""

    keeps_contents = False
    """Whether the store contains the contents of indexed files."""

    def __init__(self, rows: ProjectRows) -> None:
        self.rows = rows

    @abstractmethod
    def contents(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Return the stored contents of indexed files by path, encoded as UTF-8. Files without stored content are
        omitted."""

    def facts(self) -> IndexFacts:
        """Return the facts that every answer needs."""
        return self.rows.cached(
            "facts", lambda: IndexFacts.from_recorded(self._read_metadata(), read_failures(self._query))
        )

    def meta(self, key: str) -> str:
        """Return a metadata value of the index, or an empty string if it was never recorded."""
        if key not in _LARGE_VALUE_KEYS:
            return self.rows.cached("metadata", self._read_metadata).get(key, "")
        rows = self._query("SELECT value FROM meta WHERE key = ?", key)
        return rows[0][0] if rows else ""

    def _read_metadata(self) -> dict[str, str]:
        large = ", ".join(f"'{key}'" for key in _LARGE_VALUE_KEYS)
        return dict(self._query(f"SELECT key, value FROM meta WHERE key NOT IN ({large})"))

    def files(self) -> dict[str, StoredFile]:
        """Return all indexed files by path."""
        return {row[1]: _stored_file(row) for row in self._query(f"SELECT id, path, hash, {_STAMP} FROM file")}

    def file(self, path: str) -> StoredFile | None:
        """Return the indexed file at a path, or None."""
        rows = self._query(f"SELECT id, path, hash, {_STAMP} FROM file WHERE file.path = ?", path)
        return _stored_file(rows[0]) if rows else None

    def skipped_files(self) -> dict[str, SkippedFile]:
        """Return all skipped files by path."""
        rows = self._query(f"SELECT path, reason, hash, failure, {_STAMP} FROM skipped")
        return {row[0]: SkippedFile(row[0], row[1], SeenStamp(*row[4:]), row[2], row[3]) for row in rows}

    def failures(self) -> list[FailedFile]:
        """Return the unreadable files, ordered by path and indexer."""
        return read_failures(self._query)

    def stamps(self) -> dict[str, SeenStamp]:
        """Return the sizes and modification times (stamps) of all indexed and skipped files by path."""
        rows = self._query(f"SELECT path, {_STAMP} FROM file UNION ALL SELECT path, {_STAMP} FROM skipped")
        return {row[0]: SeenStamp(*row[1:]) for row in rows}

    def folder_times(self) -> dict[str, int]:
        """Return the modification time of each folder when files were last listed, or 0 if the time is not reliable."""
        return dict(self._query("SELECT path, mtime_ns FROM folder"))

    def file_count(self) -> int:
        """Return the number of searchable files."""
        return int(self._query("SELECT COUNT(*) FROM file WHERE NOT generated")[0][0])

    def generated_paths(self) -> frozenset[str]:
        """Return the paths of generated files, which are in the code graph but not searchable."""
        return frozenset(row[0] for row in self._query("SELECT path FROM file WHERE generated"))

    def totals(self) -> ProjectTotals:
        """Return the numbers of searchable files by language, and of skipped and generated files by reason."""
        with self.rows.snapshot():
            rows = self._query(
                """SELECT coalesce(nullif(language, ''), 'text'), COUNT(*), SUM(lines) FROM file
                   WHERE NOT generated GROUP BY 1 ORDER BY 1"""
            )
            skipped = self._query(
                """SELECT reason, COUNT(*) FROM (SELECT reason FROM skipped
                   UNION ALL SELECT 'generated' FROM file WHERE generated) AS excluded GROUP BY reason"""
            )
        languages = Counter({language: count for language, count, _ in rows})
        return ProjectTotals(
            files=sum(count for _, count, _ in rows),
            lines=sum(int(lines) for _, _, lines in rows),
            languages=dict(languages.most_common()),
            skipped=dict(sorted(skipped)),
        )

    def _query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self.rows.translating_errors():
            return self.rows.query(sql, *values)


class ProjectStore(ProjectFiles):
    """Store of all data of one project. `name` is the name of the store in the data folder or database."""

    damaged_file = ""
    """Name of the damaged file that was replaced by an empty one, or an empty string."""

    def __init__(self, rows: ProjectRows, name: str) -> None:
        super().__init__(rows)
        self.name = name
        self.code = Code(rows)
        self.graph = Graph(rows)
        self.history = History(rows)

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[Transaction]:
        """Return a context manager for one write transaction, which acquires the write lock at its start."""

    @contextmanager
    def writing(self) -> Iterator[ProjectWriter]:
        """Run the `with` block in one write transaction, which acquires the write lock at its start."""
        with self._transaction() as transaction:
            writer = ProjectWriter(self.rows, transaction)
            with self.rows.writing(writer.write_buffer):
                yield writer
                writer.flush()

    @abstractmethod
    def run_with_repair(self, work: Callable[[], _T]) -> _T:
        """Run `work` and return its result.

        If the store is damaged, replace it by an empty one and run `work` again.
        """

    @abstractmethod
    def try_lock(self, part: str = "") -> AbstractContextManager[bool]:
        """Return a context manager that yields whether this process acquired the indexing lock.

        The lock is released at the end of the block or process. `part` names data that is indexed separately, such as
        the history.
        """

    @abstractmethod
    def release(self) -> None:
        """Close the resources of this thread. Call this before the thread ends."""

    @abstractmethod
    def close(self) -> None:
        """Close the store."""


def read_failures(query: Callable[..., list[tuple[Any, ...]]]) -> list[FailedFile]:
    """Return the unreadable files of one project, ordered by path and indexer."""
    failures = [FailedFile(*row) for row in query(SELECT_FAILURES)]
    return sorted(failures, key=lambda failed: (failed.path.encode(), failed.indexer))


def _stored_file(row: tuple[Any, ...]) -> StoredFile:
    return StoredFile(row[0], row[1], row[2], SeenStamp(*row[3:]))


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
        """Return the given folders that have a store, including unfinished stores."""

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
