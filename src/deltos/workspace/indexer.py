"""Protocols for indexers, which extract facts (index data) from parsed files and write them to the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection

    import tree_sitter

    from deltos.isolated.process_pool import ProcessPool
    from deltos.languages.table import Language
    from deltos.model import Project
    from deltos.progress import Progress
    from deltos.store.project import ProjectStore
    from deltos.store.project_writer import ProjectWriter


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file that is read and parsed once for all indexers. `tree` is None if the language has no grammar."""

    path: str
    data: bytes
    language: Language | None
    tree: tree_sitter.Tree | None


@dataclass(frozen=True, slots=True)
class SyncChanges:
    """Files that an index update wrote and removed. `pending` changes are not yet visible to other processes."""

    written: Collection[str]
    removed: Collection[str]
    pending: Collection[str] = ()


class Indexer(Protocol):
    """Indexer for one kind of data. `extract` runs in worker processes, the other methods in a write transaction."""

    name: str
    reads_generated: bool
    """Whether generated code is indexed."""

    @property
    def version(self) -> int | str:
        """Version of the extracted facts. A new version causes all files to be read again."""

    def extract(self, file: ParsedFile) -> Any:
        """Return the extracted facts of one file, which must be picklable and independent of other files."""

    def write(self, store: ProjectWriter, file_id: int, path: str, facts: Any) -> int:
        """Store the facts of a file and return the number of stored records.

        The store contains no older facts of the file.
        """

    def remove(self, store: ProjectWriter, file_id: int) -> None:
        """Remove the facts of a file from the store."""

    def finish(self, store: ProjectWriter, changes: SyncChanges, workers: ProcessPool | None) -> None:
        """Update data that depends on several files, such as edges and counts, before the transaction commits.

        If `workers` is given, expensive work runs in one of its child processes.
        """


class Follower(Protocol):
    """Background task that runs after indexing and updates data that does not come from files, such as the history."""

    name: str

    def is_behind(self, project: Project, store: ProjectStore, *, at_once: bool = False) -> bool:
        """Whether there is new data to process. Unless `at_once` is true, the check may be skipped to save time."""

    def leave(self, project: Project, store: ProjectStore) -> None:
        """Let another process handle the new data. `is_behind` returns false until more data exists."""

    def catch_up(self, project: Project, store: ProjectStore, progress: Progress, *, again: bool = False) -> None:
        """Process the new data in short transactions. If `again` is true, process all data again."""
