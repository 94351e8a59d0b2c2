"""Protocol of indexers: extract facts from a parsed file and write them to the store."""

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
    from deltos.store.project import ProjectStore, ProjectWriter


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file read and parsed once, shared by all indexers; `tree` is None without a grammar."""

    path: str
    data: bytes
    language: Language | None
    tree: tree_sitter.Tree | None


@dataclass(frozen=True, slots=True)
class SyncChanges:
    """Files written and removed by one synchronisation; `pending` are changes not yet visible to other processes."""

    written: Collection[str]
    removed: Collection[str]
    pending: Collection[str] = ()


class Indexer(Protocol):
    """Indexing of one domain. `extract` runs in worker processes, the other methods in a write transaction."""

    name: str
    reads_generated: bool
    """Whether generated code is indexed."""

    @property
    def version(self) -> int | str:
        """Version of the extracted facts; files are read again when it changes."""

    def extract(self, file: ParsedFile) -> Any:
        """Return the facts of one file, independent of other files; must be picklable."""

    def write(self, store: ProjectWriter, file_id: int, path: str, facts: Any) -> int:
        """Store the facts of a file whose older facts are removed; return the number of units stored."""

    def remove(self, store: ProjectWriter, file_id: int) -> None:
        """Remove the facts of a file."""

    def finish(self, store: ProjectWriter, changes: SyncChanges, workers: ProcessPool | None) -> None:
        """Update data that spans files, such as edges and counts, before the transaction commits.

        Expensive work runs in a child of `workers`, if there are any.
        """


class Follower(Protocol):
    """Data of a project besides its files, such as history, updated after them in its own thread."""

    name: str

    def is_behind(self, project: Project, store: ProjectStore, *, at_once: bool = False) -> bool:
        """Whether there are new data; called with every answer, so it may check only now and then."""

    def leave(self, project: Project, store: ProjectStore) -> None:
        """Record that new data are left to another process, so that nothing is behind until there are more."""

    def catch_up(self, project: Project, store: ProjectStore, progress: Progress, *, again: bool = False) -> None:
        """Process new data, or all data with `again`, in short transactions."""
