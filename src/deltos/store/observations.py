"""What memory keeps: observations, and how their places are numbered.

Rows are named tuples, not dataclasses: hooks start on every tool call of an agent, and these are made five
times as fast.
"""

# Annotations are evaluated here: as texts, each field of a named tuple would be compiled whenever a hook starts.
from typing import NamedTuple, NewType

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
