"""What a domain contributes to indexing a project: facts out of a parsed file, and their place in the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection

    import tree_sitter

    from deltos.isolated.process import Workers
    from deltos.languages.table import Language
    from deltos.model import Project
    from deltos.progress import Progress
    from deltos.store.project import ProjectStore, ProjectWriter


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A source file read and parsed once, shared by all indexers. `tree` is None where no grammar fits."""

    path: str
    data: bytes
    language: Language | None
    tree: tree_sitter.Tree | None


@dataclass(frozen=True, slots=True)
class SyncChanges:
    """What one synchronisation did, by relative path. `pending` is what other processes do not see yet."""

    written: Collection[str]
    removed: Collection[str]
    pending: Collection[str] = ()


class Indexer(Protocol):
    """One domain's part in the write path. `extract` runs in worker processes, the rest inside a write transaction."""

    name: str
    reads_generated: bool
    """Whether code that a tool wrote is of interest."""

    @property
    def version(self) -> int | str:
        """Of what `extract` gives: files are read again when it changes."""

    def extract(self, file: ParsedFile) -> Any:
        """Facts about one file, independent of all others; must survive pickling."""

    def write(self, store: ProjectWriter, file_id: int, path: str, facts: Any) -> int:
        """Store the facts of a new or changed file, whose older facts are already removed; how many pieces they are."""

    def remove(self, store: ProjectWriter, file_id: int) -> None:
        """Forget a file that changed or vanished."""

    def finish(self, store: ProjectWriter, changes: SyncChanges, workers: Workers | None) -> None:
        """Bring what spans files (edges, counts) up to date, before the transaction commits.

        What may take long over facts of others happens in a child of `workers`; here where there are none.
        """


class Follower(Protocol):
    """What is kept of a project besides its files: brought up to date behind them, in a thread of its own."""

    name: str

    def is_behind(self, project: Project, store: ProjectStore, *, at_once: bool = False) -> bool:
        """Whether there is something new; asked with every answer, so it may look only now and then."""

    def leave(self, project: Project, store: ProjectStore) -> None:
        """What is new was left to another process: nothing is behind until there is more."""

    def catch_up(self, project: Project, store: ProjectStore, progress: Progress, *, again: bool = False) -> None:
        """Take in what is new, or everything `again`; in transactions of its own, each of them short."""
