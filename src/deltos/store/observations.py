"""What memory keeps: observations, how their places are numbered, and what is asked of whoever keeps them.

Rows are named tuples, not dataclasses: hooks start on every tool call of an agent, and these are made five
times as fast.
"""

# Annotations are evaluated here: as texts, each field of a named tuple would be compiled whenever a hook starts.
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, NewType, Protocol

if TYPE_CHECKING:
    from deltos.store.vectors import VectorRecords

# An observation's place is one number: the session's key and the position inside that session. Neighbours are
# therefore found by arithmetic on the places that the word index returns, without reading a single row.
POSITION_BITS = 24
_LAST_POSITION = (1 << POSITION_BITS) - 1

# A text without secrets. Only what takes them out makes one (domains/memory/redact.py), and only such texts are stored.
Clean = NewType("Clean", str)


class Anchor(NamedTuple):
    """The state of a file, or of one symbol in it, when an observation about it was written."""

    path: str
    symbol: str
    digest: bytes


class Observation(NamedTuple):
    """Something worth knowing later. Times are microseconds since 1970 in UTC."""

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
    folder: str = ""  # of the repository, in which it was made
    pinned_at: int | None = None  # shown first at the start of a session
    superseded_by: str | None = None  # the id of a newer one that says otherwise
    score: float | None = None  # how sure the kind is, where it was judged and not given
    restored_at: int | None = None  # when it was last brought back after it was forgotten
    unpinned_at: int | None = None
    superseded_at: int | None = None  # when `superseded_by` was last set or taken back


class NewObservation(NamedTuple):
    """An observation that has no place yet; `names` holds the words inside its identifiers and paths."""

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


class MinedFile(NamedTuple):
    """A transcript as it was when all of it was taken in, but what happened before `since`. `key` is a digest."""

    key: bytes
    size_bytes: int
    mtime_ns: int
    since: int = 0


class ProjectRow(NamedTuple):
    """A folder of a project as memory knows it: the project's identity, the folder in its repository, and where that
    was last seen. What was kept before folders were told apart is the top's."""

    key: int
    project_id: str
    folder: str
    root: str
    created_at: int


class SessionRow(NamedTuple):
    """One conversation with an agent. `session_id` is None for the observations outside any session."""

    key: int
    project_id: str
    folder: str
    session_id: str | None
    agent: str
    started_at: int
    ended_at: int | None


class Sketch(NamedTuple):
    """As much of an observation as ranking looks at."""

    place: int
    created_at: int
    source: str
    files: tuple[str, ...]
    symbols: tuple[str, ...]
    head: str
    length: int
    kind: str
    tail: str  # the last character


class MemoryCounts(NamedTuple):
    """How much is kept."""

    observations: int
    forgotten: int
    sessions: int
    projects: int
    text_characters: int


def session_of(place: int) -> int:
    """The key of the session that a place belongs to."""
    return place >> POSITION_BITS


def session_range(session: int) -> tuple[int, int]:
    """The first and the last place that a session can have."""
    return session << POSITION_BITS, (session << POSITION_BITS) + _LAST_POSITION


class Copy(NamedTuple):
    """A damaged file that was set aside, or a snapshot; `readable` is what it still tells, not taken over yet."""

    name: str
    size_bytes: int
    modified_at: float  # seconds since 1970
    readable: Iterator[Observation]


class Mended(NamedTuple):
    """What was wrong and is mended, the damaged files, and the snapshots, newest first, that may know more."""

    problems: tuple[str, ...]
    set_aside: tuple[Copy, ...]
    snapshots: tuple[Copy, ...] = ()


class ObservationsWriter(Protocol):
    """Writes inside one transaction. Projects and sessions are known by keys, observations by their places."""

    def project(self, project_id: str, *, root: str, now: int, folder: str = "") -> int:
        """The key of a folder of a project, created when it is new; a place that got a better identity keeps its
        memory."""

    def folder_of_session(self, project_id: str, session_id: str) -> str | None:
        """The folder of a project in which a session was last kept; None for a new session."""

    def session(self, project: int, session_id: str | None, *, agent: str, now: int) -> int:
        """The key of a session, created when it is new."""

    def describe_session(self, key: int, *, agent: str, started_at: int, ended_at: int | None) -> None:
        """Add what is known about a session: the earlier start and the later end hold."""

    def describe_project(self, key: int, *, root: str, created_at: int) -> None:
        """Note where a project lies, unless that is known or another one lies there, and the first time it was seen."""

    def end_session(self, key: int, now: int) -> None:
        """Note when a session ended; one that goes on later simply ends again."""

    def note_shown(self, key: int, now: int) -> int | None:
        """Note that a session was told what memory knows; when it was told before."""

    def last_created_at(self, session: int) -> int | None:
        """When the last observation of a session was created; None outside any session."""

    def recent(
        self, project: int, *, limit: int, until: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Observation]:
        """The newest live observations of a project that still hold, newest first; with `until`, those up to then; only
        of `kinds` where given."""

    def later(self, project: int, after: int, *, limit: int, kinds: Sequence[str]) -> list[Observation]:
        """Live observations of some kinds made after a moment, oldest first, whether they still hold or not."""

    def in_session(self, session: int, *, limit: int) -> list[Observation]:
        """The last live observations of a session, newest first."""

    def find(self, project: int, observation_id: str) -> Observation | None:
        """The observation of that id in a project, forgotten or not."""

    def project_of(self, place: int) -> int:
        """The key of the project that the observation at `place` is in."""

    def containing(self, project: int, part: str) -> list[Observation]:
        """The observations of a project whose texts contain `part` exactly so, forgotten or not."""

    def insert(self, project: int, session: int, new: NewObservation) -> int:
        """Store an observation at the end of its session and return its place."""

    def replace(self, place: int, new: NewObservation) -> None:
        """Give the observation at `place` new content; its id and place stay."""

    def replace_marks(self, place: int, new: NewObservation) -> None:
        """Give the observation at `place` the marks and the time of change of another state; what it says stays."""

    def add_anchors(self, place: int, anchors: Sequence[Anchor]) -> None:
        """Tie an observation to more code; what it was tied to before under the same name is replaced."""

    def touch(self, place: int, now: int) -> None:
        """Note that the observation was made again."""

    def mark_deleted(self, place: int, now: int, *, undo: bool = False) -> None:
        """Hide an observation from every answer, or show it again."""

    def mark_pinned(self, place: int, now: int, *, undo: bool = False) -> None:
        """Have an observation shown first, or like any other."""

    def mark_superseded(self, place: int, by: str | None, now: int) -> None:
        """Note that a newer observation says otherwise, or with None that it holds again."""

    def with_id(self, observation_id: str) -> list[Observation]:
        """All observations of that id, forgotten or not."""

    def purge(self, before: int, projects: Sequence[int] | None = None) -> int:
        """Remove what was forgotten before a moment, its words too, of all projects or of some; how many went. `scrub`
        removes the traces."""

    def was_purged(self, observation_id: str) -> bool:
        """Whether an observation of that id was removed for good."""

    def note_exported(self, target: bytes, number: int) -> None:
        """Note up to which change a target has everything."""

    def note_mined(self, keys: Iterable[bytes]) -> None:
        """Note which events of transcripts were taken in."""

    def note_mined_file(self, file: MinedFile) -> None:
        """Note that a transcript was taken in as far as it goes."""


class Observations(Protocol):
    """All observations, and the one way to write to them. Leaves judgement to the memory domain."""

    @property
    def set_aside(self) -> str:
        """The name of a damaged copy in whose place this one was begun; empty when there was none."""

    @property
    def size_bytes(self) -> int:
        """How much room it takes."""

    @property
    def vectors(self) -> "VectorRecords":
        """The vectors of live observations, by their places. What is forgotten, changed or purged loses its own."""

    def close(self) -> None:
        """Let go of it."""

    def scrub(self) -> bool:
        """Leave no trace of what was purged; False while another process reads."""

    def copies(self) -> list[str]:
        """Names of older or damaged copies, from which nothing is purged."""

    def keep_snapshot(self, day: str, *, kept: int, most_bytes: int = 0) -> bool:
        """Copy everything under the name of a day, unless that is done or there is nothing, or more than `most_bytes`;
        of the copies the newest `kept` stay."""

    def drop_snapshots(self) -> None:
        """Delete all snapshots: they may hold what was purged."""

    def mend(self) -> Mended:
        """Compare the word index with the observations, and rebuild what can be rebuilt. Nothing is deleted."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Several reads that see one state, whatever is written meanwhile."""

    def writing(self) -> AbstractContextManager[ObservationsWriter]:
        """One transaction: on disk when the block ends, or not at all."""

    def by_ids(self, ids: Sequence[str]) -> list[Observation]:
        """All live observations with these ids, of any project."""

    def at_places(self, places: Sequence[int]) -> list[Observation]:
        """The live observations at these places, in the order asked for."""

    def sketches(self, places: Sequence[int], *, head_characters: int) -> list[Sketch]:
        """What ranking needs to know about the live observations at these places that still hold."""

    def projects(self) -> list[ProjectRow]:
        """Every project that memory knows."""

    def keys_beside(self, key: int) -> tuple[int, ...]:
        """The keys of all folders of a project, of which one is given."""

    def known_identity(self, project_id: str, root: str) -> str | None:
        """The identity under which a project is kept: its own, or an older one that its folder had."""

    def sessions(self) -> list[SessionRow]:
        """Every session, in the order of their first write."""

    def session_keys(self, project_keys: Sequence[int]) -> set[int]:
        """The keys of all sessions of these projects."""

    def count(self, project_keys: Sequence[int]) -> int:
        """How many live observations these projects have."""

    def frequency(self, words: Sequence[str], *, at_most: int, project_keys: Sequence[int] | None = None) -> int:
        """How many observations of these projects, or of all, have any of `words`; counting stops at `at_most`."""

    def places_with(
        self, words: Sequence[str], *, at_most: int, project_keys: Sequence[int] | None = None
    ) -> list[int]:
        """The places of observations of these projects, or of all, that have any of `words`, newest sessions first."""

    def places_between(
        self, project_keys: Sequence[int], start: int, end: int, *, at_most: int, kinds: Sequence[str] = ()
    ) -> list[int]:
        """The places of live observations created in [start, end), newest first; only of `kinds` where given."""

    def before(self, project_keys: Sequence[int], created_at: int, place: int, *, limit: int) -> list[Observation]:
        """Up to `limit` live observations before that moment, oldest first."""

    def after(self, project_keys: Sequence[int], created_at: int, place: int, *, limit: int) -> list[Observation]:
        """Up to `limit` live observations from that moment on, oldest first."""

    def page(
        self,
        project_keys: Sequence[int],
        created_at: int,
        place: int,
        *,
        limit: int,
        kinds: Sequence[str] = (),
        forgotten: bool = False,
    ) -> list[Observation]:
        """Up to `limit` live observations before a moment, or forgotten ones, newest first; of `kinds` where given."""

    def tally(self, project_keys: Sequence[int]) -> dict[str, tuple[int, int]]:
        """How many live and how many forgotten observations of each kind these projects have."""

    def in_session(self, session_id: str, *, limit: int) -> list[Observation]:
        """The last `limit` live observations of the sessions with this id, oldest first."""

    def recent(self, project_keys: Sequence[int], *, limit: int, kinds: Sequence[str] = ()) -> list[Observation]:
        """The newest live observations that still hold, newest first; only of `kinds` where given."""

    def pinned(self, project_keys: Sequence[int], *, limit: int) -> list[Observation]:
        """The live observations that were pinned, those pinned last first."""

    def anchors(self, places: Sequence[int]) -> dict[int, list[Anchor]]:
        """What the observations at these places were written about."""

    def all(self) -> Iterator[Observation]:
        """Every observation, forgotten ones too, in the order of their places."""

    def changed_after(self, number: int) -> Iterator[Observation]:
        """Every observation that was written or marked after the change of that number, in the order of places."""

    def last_change(self) -> int:
        """The number of the last change; 0 when there was none."""

    def change_of(self, place: int) -> int:
        """The number of the last change of an observation."""

    def exported(self, target: bytes) -> int:
        """Up to which change a target has everything; 0 for one that has nothing yet."""

    def mined(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of the events of transcripts that were taken in before."""

    def mined_file(self, key: bytes) -> MinedFile | None:
        """What was noted about a transcript."""

    def counts(self) -> MemoryCounts:
        """How much is kept in all."""
