"""Protocols and row types of memory: observations, sessions and projects, and the row numbers of observations.

A deleted observation is only marked deleted. A purge permanently removes observations that are marked deleted.
"""

# A hook process starts for every tool call of an agent, so this module must be imported fast. Rows are named tuples,
# because Python creates a named tuple class five times as fast as a dataclass. There is no `from __future__ import
# annotations`, because each string annotation of a named tuple would be compiled whenever a hook starts.
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from deltos.model import Clean

if TYPE_CHECKING:
    from deltos.store.vectors import VectorRecords

# The row number (`place`) of an observation contains the key of the session in the upper bits and the position in the
# session in the lower bits. The row numbers of neighbouring observations are therefore known without reading rows.
POSITION_BITS = 24
_LAST_POSITION = (1 << POSITION_BITS) - 1


class Anchor(NamedTuple):
    """Digest of a file, or of one symbol in a file, at the time when an observation about it was written."""

    path: str
    symbol: str
    digest: bytes


class Observation(NamedTuple):
    """One record of memory. `place` is the row number. Times are in microseconds since 1970 (UTC)."""

    place: int
    id: Clean
    text: Clean
    kind: Clean
    source: Clean
    project_id: str
    session_id: str | None
    files: tuple[Clean, ...]
    symbols: tuple[Clean, ...]
    created_at: int
    updated_at: int
    deleted_at: int | None
    embedding: bytes | None
    embedding_model: str | None
    folder: str = ""  # folder of the repository in which the observation was made
    pinned_at: int | None = None  # pinned observations are shown first at the start of a session
    superseded_by: str | None = None  # id of the newer observation that replaces this one
    score: float | None = None  # confidence of a classified `kind`; None if the caller gave the kind
    restored_at: int | None = None  # last time that a deletion was undone
    unpinned_at: int | None = None
    superseded_at: int | None = None  # last time that `superseded_by` was set or cleared


class NewObservation(NamedTuple):
    """An observation to store. `names` contains the words that occur inside identifiers and paths."""

    id: Clean
    text: Clean
    kind: Clean
    source: Clean
    created_at: int
    names: Clean = Clean("")
    files: tuple[Clean, ...] = ()
    symbols: tuple[Clean, ...] = ()
    updated_at: int | None = None
    deleted_at: int | None = None
    embedding: bytes | None = None
    embedding_model: str | None = None
    anchors: tuple[Anchor, ...] = ()
    pinned_at: int | None = None
    superseded_by: Clean | None = None
    score: float | None = None
    restored_at: int | None = None
    unpinned_at: int | None = None
    superseded_at: int | None = None


class ProjectRow(NamedTuple):
    """A project folder in memory. `folder` is the path in the repository, `root` is the last known location on disk.

    Observations from old versions of Deltos, which did not distinguish folders, belong to the top folder ("").
    """

    key: int
    project_id: str
    folder: str
    root: str
    created_at: int


class SessionRow(NamedTuple):
    """One conversation with an agent. `session_id` is None for observations outside any session."""

    key: int
    project_id: str
    folder: str
    session_id: str | None
    agent: str
    started_at: int
    ended_at: int | None


class ObservationSummary(NamedTuple):
    """The fields of an observation that ranking needs."""

    place: int
    created_at: int
    source: str
    files: tuple[str, ...]
    symbols: tuple[str, ...]
    head: str  # start of the text
    length: int  # number of characters of the text
    kind: str
    tail: str  # last character of the text


class MemoryCounts(NamedTuple):
    """Number of stored observations, sessions, projects and characters."""

    observations: int
    deleted: int
    sessions: int
    projects: int
    text_characters: int


def session_of(place: int) -> int:
    """Return the key of the session of the observation with row number `place`."""
    return place >> POSITION_BITS


def session_range(session: int) -> tuple[int, int]:
    """Return the first and the last possible row number of a session's observations."""
    return session << POSITION_BITS, (session << POSITION_BITS) + _LAST_POSITION


class MemoryCopy(NamedTuple):
    """A snapshot of all observations, or a damaged file that was moved aside.

    `readable` yields the observations that can still be read from the copy.
    """

    name: str
    size_bytes: int
    modified_at: float  # seconds since 1970
    readable: Iterator[Observation]


class RepairReport(NamedTuple):
    """Repaired problems, damaged files, and snapshots (newest first) that may contain lost observations."""

    problems: tuple[str, ...]
    set_aside: tuple[MemoryCopy, ...]
    snapshots: tuple[MemoryCopy, ...] = ()


class ObservationsWriter(Protocol):
    """Writer of memory within one transaction.

    Projects and sessions are identified by keys. Observations are identified by row numbers (`place`).
    """

    def upsert_project(self, project_id: str, *, root: str, now: int, folder: str = "") -> int:
        """Return the key of a project folder, which is added to memory if it is new.

        If `root` was stored under a temporary project id, the observations are moved to the permanent project id.
        """

    def upsert_session(self, project: int, session_id: str | None, *, agent: str, now: int) -> int:
        """Return the key of a session, which is added to memory if it is new."""

    def update_session(self, key: int, *, agent: str, started_at: int, ended_at: int | None) -> None:
        """Update the agent, start and end of a session, keeping the earlier start and the later end."""

    def update_project(self, key: int, *, root: str, created_at: int) -> None:
        """Record the root of a project, and keep the earlier creation time.

        The root is not changed if the project already has one or another project uses it.
        """

    def record_shown(self, key: int, now: int) -> int | None:
        """Record that observations were shown in a session. Return when this was last recorded, or None if never."""

    def insert(self, project: int, session: int, new: NewObservation) -> int:
        """Store an observation at the end of a session and return the row number."""

    def replace(self, place: int, new: NewObservation) -> None:
        """Replace the content of the observation with row number `place`. The id does not change."""

    def update(self, place: int, **marks: object) -> None:
        """Set some columns of an observation, such as `deleted_at`. The columns must be in `MARK_COLUMNS`."""

    def add_anchors(self, place: int, anchors: Sequence[Anchor]) -> None:
        """Attach anchors (states of files or symbols) to an observation. An anchor for the same symbol is replaced."""

    def purge(self, before: int, projects: Sequence[int] | None = None) -> int:
        """Permanently delete observations that were marked deleted before the time `before`, and return their number.

        The purge is limited to `projects` unless this is None. Call `Observations.scrub` to erase remaining traces on
        disk.
        """

    def record_exported(self, target: bytes, number: int) -> None:
        """Record the number of the last change that was exported to a target."""

    def record_distilled(self, keys: Iterable[bytes]) -> None:
        """Mark records in the journal of agent events as converted to observations."""


class MemoryMaintenance(Protocol):
    """Maintenance of the file or tables of memory: size, copies and repair."""

    @property
    def damaged_file(self) -> str:
        """Name of the damaged file that was replaced by an empty one, or an empty string."""

    @property
    def size_bytes(self) -> int:
        """Size on disk in bytes."""

    def close(self) -> None:
        """Close the store."""

    def scrub(self) -> bool:
        """Erase all traces of purged observations on disk. Return False if another process is reading memory."""

    def copies(self) -> list[str]:
        """Return the names of backups and damaged copies, which a purge does not change."""

    def keep_snapshot(self, day: str, *, kept: int, max_bytes: int = 0) -> bool:
        """Copy all observations to a snapshot named after `day`, and keep only the newest `kept` snapshots.

        Return False if the snapshot exists, there is nothing to copy, or the size exceeds `max_bytes` (0: no limit).
        """

    def drop_snapshots(self) -> None:
        """Delete all snapshots, because they may contain purged observations."""

    def repair(self) -> RepairReport:
        """Compare the word index with the observations and rebuild it if needed. Nothing is deleted."""


class Observations(MemoryMaintenance, Protocol):
    """Queries on all observations, and transactions for writes.

    Within a transaction, queries see its writes.
    """

    @property
    def vectors(self) -> "VectorRecords":
        """Embedding vectors of undeleted observations by row number.

        Deleting or changing an observation deletes the vector.
        """

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context manager within which all reads see the same state."""

    def writing(self) -> AbstractContextManager[ObservationsWriter]:
        """Return a context manager for one transaction, which is committed at the end and rolled back on an error."""

    def by_ids(self, ids: Sequence[str], *, project: int | None = None) -> list[Observation]:
        """Return all observations with these ids, including deleted observations, from one or all projects."""

    def was_purged(self, observation_id: str) -> bool:
        """Whether an observation with this id was purged."""

    def at_row_numbers(self, places: Sequence[int]) -> list[Observation]:
        """Return the undeleted observations with these row numbers, in the given order."""

    def summaries(self, places: Sequence[int], *, head_characters: int) -> list[ObservationSummary]:
        """Return the ranking fields of the observations with these row numbers, unless deleted or superseded."""

    def projects(self) -> list[ProjectRow]:
        """Return every project folder in memory."""

    def sessions(self) -> list[SessionRow]:
        """Return all sessions in the order in which they were first written."""

    def session_keys(self, project_keys: Sequence[int]) -> set[int]:
        """Return the keys of all sessions of these projects."""

    def count(self, project_keys: Sequence[int]) -> int:
        """Return the number of undeleted observations of these projects."""

    def frequency(self, words: Sequence[str], *, at_most: int, project_keys: Sequence[int] | None = None) -> int:
        """Return the number of observations that contain any of `words`, counting up to `at_most`.

        All projects are counted unless `project_keys` is given.
        """

    def row_numbers_with(
        self, words: Sequence[str], *, at_most: int, project_keys: Sequence[int] | None = None
    ) -> list[int]:
        """Return up to `at_most` row numbers of observations that contain any of `words`, newest sessions first."""

    def row_numbers_between(
        self, project_keys: Sequence[int], start: int, end: int, *, at_most: int, kinds: Sequence[str] = ()
    ) -> list[int]:
        """Return the row numbers of undeleted observations created in [start, end), newest first.

        `kinds` limits the kinds unless it is empty.
        """

    def observations_after(
        self, project_keys: Sequence[int], created_at: int, place: int, *, limit: int
    ) -> list[Observation]:
        """Return up to `limit` undeleted observations after a position (time, row number), oldest first."""

    def page(
        self,
        project_keys: Sequence[int],
        created_at: int,
        place: int,
        *,
        limit: int,
        kinds: Sequence[str] = (),
        deleted: bool = False,
    ) -> list[Observation]:
        """Return up to `limit` undeleted or deleted observations before a position (time, row number), newest first."""

    def counts_by_kind(self, project_keys: Sequence[int]) -> dict[str, tuple[int, int]]:
        """Return the numbers of undeleted and deleted observations by kind."""

    def session_observations(self, session_id: str, *, limit: int) -> list[Observation]:
        """Return the last `limit` undeleted observations in the sessions with this id, oldest first."""

    def latest_in_session(self, session: int, *, limit: int) -> list[Observation]:
        """Return the last undeleted observations of the session with this key, newest first."""

    def folder_of_session(self, project_id: str, session_id: str) -> str | None:
        """Return the project folder in which a session was last recorded, or None for a new session."""

    def recent_observations(
        self, project_keys: Sequence[int], *, limit: int, kinds: Sequence[str] = ()
    ) -> list[Observation]:
        """Return undeleted observations that are not superseded, newest first.

        `kinds` limits the kinds unless it is empty.
        """

    def pinned_observations(self, project_keys: Sequence[int], *, limit: int) -> list[Observation]:
        """Return the pinned undeleted observations, most recently pinned first."""

    def anchors(self, places: Sequence[int]) -> dict[int, list[Anchor]]:
        """Return the anchors (states of files or symbols) of the observations with these row numbers."""

    def all(self) -> Iterator[Observation]:
        """Iterate over all observations, including deleted observations, ordered by row number."""

    def changed_after(self, number: int) -> Iterator[Observation]:
        """Iterate over the observations that were changed after change number `number`, ordered by row number."""

    def last_change_number(self) -> int:
        """Return the number of the last change, or 0 if there was no change."""

    def change_number(self, place: int) -> int:
        """Return the number of the last change of the observation with this row number."""

    def last_exported_change(self, target: bytes) -> int:
        """Return the number of the last change that was exported to a target, or 0 for a new target."""

    def distilled_keys(self, keys: Sequence[bytes]) -> set[bytes]:
        """Return the given keys of journal records that were already converted to observations."""

    def counts(self) -> MemoryCounts:
        """Return the numbers of stored observations, sessions, projects and characters."""
