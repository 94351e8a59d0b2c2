"""What is kept of a project: its files, what was skipped and why, and facts about the index itself."""

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
    """A file's size and time when it was last read; `seen_at_ns` is the clock's time just before that."""

    size: int
    mtime_ns: int
    seen_at_ns: int


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as it was when it was indexed."""

    id: int
    path: str
    hash: bytes
    stamp: SeenStamp


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What is written about a file when it is indexed."""

    path: str
    language: str
    lines: int
    hash: bytes
    stamp: SeenStamp
    content: bytes = b""  # packed, where contents are kept
    is_generated: bool = False  # no search finds it; its definitions and uses are known


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that is not indexed, and why. One that could not be read has a `hash`; `failure` says what happened."""

    path: str
    reason: str
    stamp: SeenStamp
    hash: bytes = b""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file that an indexer could not read; none could where no indexer is named."""

    path: str
    indexer: str
    reason: str


@dataclass(frozen=True, slots=True)
class KnownIndex:
    """An index that is kept, and its project. `place` is where, for a person; `history` how much is known of that."""

    place: str
    size_bytes: int
    root: Path
    project_id: str
    synced_at: float
    files: int
    failures: list[FailedFile]
    history: str = ""
    has_contents: bool = False  # it can be shown without its folder
    is_finished: bool = True  # it was indexed to the end at least once


@dataclass(frozen=True, slots=True)
class SetAside:
    """A damaged store that was moved out of the way; `place` is where, for a person."""

    place: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """What an index says of itself, all of one state. `is_complete`: it was indexed to the end at least once;
    `synced_at` changes whenever files are compared with the disk and written; `indexers` are those that made it, with
    their versions; `notes` are what the list of files lacks; `failures` what could not be read."""

    is_complete: bool = False
    synced_at: str = ""
    indexers: str = ""
    notes: tuple[str, ...] = ()
    failures: tuple[FailedFile, ...] = ()

    @classmethod
    def of(cls, recorded: Mapping[str, str], failures: Iterable[FailedFile]) -> IndexFacts:
        """The facts that were recorded by `FACT_KEYS`."""
        complete, synced_at, indexers, notes = (recorded.get(key, "") for key in FACT_KEYS)
        return cls(bool(complete), synced_at, indexers, tuple(notes.splitlines()), tuple(failures))


FACT_KEYS = ("complete", "synced_at", "indexers", "notes")


@dataclass(frozen=True, slots=True)
class ProjectTotals:
    """How much a project file holds."""

    files: int
    lines: int
    languages: dict[str, int]
    skipped: dict[str, int]


class ProjectFiles(Protocol):
    """The files of one project, what was skipped, and facts about the index."""

    @property
    def keeps_contents(self) -> bool:
        """Whether the contents of indexed files are kept too."""

    def contents(self, paths: Sequence[str]) -> dict[str, bytes]:
        """What indexed files say, by path, as UTF-8; those whose content is not kept are left out."""

    def facts(self) -> IndexFacts:
        """What the index says of itself now: what every answer has to know first, read at once."""

    def meta(self, key: str) -> str:
        """A recorded fact; empty when it was never recorded."""

    def files(self) -> dict[str, StoredFile]:
        """All indexed files by path."""

    def file(self, path: str) -> StoredFile | None:
        """One indexed file."""

    def skipped(self) -> dict[str, SkippedFile]:
        """All skipped files by path."""

    def failures(self) -> list[FailedFile]:
        """What could not be read, by path and indexer."""

    def stamps(self) -> dict[str, SeenStamp]:
        """The stamps of all files, indexed or skipped, by path."""

    def folders(self) -> dict[str, int]:
        """When each folder's list of entries last changed, as seen by the last walk; 0 if it cannot be trusted."""

    def file_count(self) -> int:
        """How many files can be searched."""

    def generated(self) -> frozenset[str]:
        """The files that a tool wrote, by path: they are indexed, but no search finds them."""

    def totals(self) -> ProjectTotals:
        """How much can be searched, by language, and how much was skipped, by reason: what a tool wrote too."""


class ProjectWriter(Protocol):
    """One transaction of a project: all of it or nothing is kept, unless it is kept in steps."""

    @property
    def code(self) -> CodeWriter:
        """Writes what code search keeps."""

    @property
    def graph(self) -> GraphWriter:
        """Writes the graph; each time a new one, which remembers nothing of the last."""

    @property
    def history(self) -> HistoryWriter:
        """Writes what is kept of the repository's history."""

    def commit_step(self) -> None:
        """Keep what was written so far and go on in a new transaction."""

    def part(self) -> AbstractContextManager[None]:
        """Take back what an error in the block left half done, and nothing else of the transaction."""

    def set_meta(self, facts: dict[str, str]) -> None:
        """Record facts by key."""

    def add_file(self, record: FileRecord) -> int:
        """Write a file's row; its id."""

    def remove_file(self, file_id: int) -> None:
        """Delete a file's row, and what failed over it."""

    def touch_file(self, file_id: int, stamp: SeenStamp) -> None:
        """Record a new stamp for a file whose content is the same."""

    def set_unfinished(self, indexer: str, reason: str) -> None:
        """Record why an indexer could not settle what spans files; with an empty reason, that it could."""

    def set_skipped(self, file: SkippedFile) -> None:
        """Record a file that is not indexed."""

    def add_failures(self, file_id: int, reasons: Iterable[tuple[str, str]]) -> None:
        """Record which indexers could not read a file, each with its reason."""

    def forget_skipped(self, paths: Iterable[str]) -> None:
        """Drop files from the list of skipped ones."""

    def set_folders(self, folders: dict[str, int]) -> None:
        """Replace the list of folders and their stamps."""

    def set_unresolved(self, indexer: str, tried: Iterable[str], unresolved: Iterable[tuple[str, str]]) -> None:
        """Record which of the files that an indexer tried to resolve it could not, each with its reason."""


class ProjectStore(ProjectFiles, Protocol):
    """All that is kept of one project."""

    @property
    def name(self) -> str:
        """What it is called in the data folder."""

    @property
    def code(self) -> Code:
        """What code search keeps."""

    @property
    def graph(self) -> Graph:
        """The code graph."""

    @property
    def history(self) -> History:
        """The commits of the repository."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of where answers come from."""

    @property
    def set_aside(self) -> str:
        """The name of a damaged copy in whose place this one was begun; empty when there was none."""

    def writing(self) -> AbstractContextManager[ProjectWriter]:
        """One transaction, which takes the right to write at once."""

    def repairing(self, work: Callable[[], _T]) -> _T:
        """What `work` gives; where it meets damage, an empty store takes this one's place, and it works once more."""

    def look_ahead(self, others: Sequence[ProjectStore]) -> None:
        """This thread is about to ask itself and others one after the other: where each would cost a round trip, what
        tells their states is read at once."""

    def claim(self, part: str = "") -> AbstractContextManager[bool]:
        """Whether this process may index now, until the block ends or the process dies; others may not meanwhile.

        A `part` that is indexed apart from the files is claimed by its name.
        """

    def release(self) -> None:
        """Let go of what this thread holds: for a thread that is about to end."""

    def close(self) -> None:
        """Let go of it."""


class ProjectStores(Protocol):
    """The stores of all projects of a data folder."""

    @property
    def keep_contents(self) -> bool:
        """Whether they keep the contents of files, so that a project can be shown whose checkout is elsewhere."""

    def sweep(self) -> int:
        """Delete contents that no file refers to any more; how many."""

    def store_of(self, root: Path) -> ProjectStore:
        """The store of the project at a folder, made when there is none."""

    def known(self, *, with_unfinished: bool = False) -> list[KnownIndex]:
        """Every project that has one, most recently synchronised first; unreadable ones are left out.

        Those whose first index was begun and has not ended come last, and only where they are asked for.
        """

    def having(self, roots: Sequence[Path]) -> set[Path]:
        """Those of some folders for whose project there is a store, however far its index came."""

    def remove(self, root: Path) -> None:
        """Delete the store of the project at a folder; raises StoreBusy while somebody indexes it."""

    def set_aside(self) -> list[SetAside]:
        """The damaged stores in whose place others were begun."""

    def remove_set_aside(self, place: str) -> None:
        """Delete one of them."""
