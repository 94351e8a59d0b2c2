"""The nouns of `memory.db`, how observations are selected, and how their places are numbered.

Rows are named tuples, not dataclasses: hooks start on every tool call of an agent, and these are made five
times as fast.
"""

# Annotations are evaluated here: as texts, each field of a named tuple would be compiled whenever a hook starts.
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NewType

if TYPE_CHECKING:
    import sqlite3

# An observation's row number is its place: the session's key and the position inside that session.
# Neighbours are
# therefore found by arithmetic on the row numbers that the word index returns, without reading a single row.
POSITION_BITS = 24
_LAST_POSITION = (1 << POSITION_BITS) - 1

_COLUMNS = """o.place, o.id, o.text, o.kind, o.source, p.project_id, s.session_id, o.files, o.symbols,
    o.created_at, coalesce(o.updated_at, o.created_at), o.deleted_at, o.embedding, o.embedding_model"""
_JOINED = f"""FROM observation o JOIN project p ON p.key = o.project
    JOIN session s ON s.key = o.place >> {POSITION_BITS}"""


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


def select(
    connection: "sqlite3.Connection", where: str, values: Sequence[object], *, has_folders: bool = True
) -> list[Observation]:
    """The observations that a condition over `o`, `p` and `s` picks; files of the first version have no folders."""
    columns = f"{_COLUMNS}, p.folder" if has_folders else _COLUMNS
    rows = connection.execute(f"SELECT {columns} {_JOINED} WHERE {where}", tuple(values))
    return [_observation(row) for row in rows]


def select_session(connection: "sqlite3.Connection", session: int, limit: int) -> list[Observation]:
    """The last live observations of one session, newest first."""
    where = "o.place BETWEEN ? AND ? AND o.deleted_at IS NULL ORDER BY o.place DESC LIMIT ?"
    return select(connection, where, (*session_range(session), limit))


def newest(
    connection: "sqlite3.Connection", project_keys: Sequence[int], where: str, values: Sequence[object], limit: int
) -> list[tuple[int, int]]:
    """Creation time and place of the newest live observations of some projects, newest first.

    Asked project by project, so that an index gives the order and nothing has to be sorted.
    """
    sql = f"""SELECT created_at, place FROM observation WHERE project = ? AND {where} AND deleted_at IS NULL
              ORDER BY created_at DESC, place DESC LIMIT ?"""
    found = [row for key in project_keys for row in connection.execute(sql, (key, *values, limit))]
    return sorted(found, reverse=True)[:limit]


def texts_of(joined: str) -> tuple[Clean, ...]:
    """The texts in a cell that holds several."""
    return tuple(json.loads(joined)) if joined else ()


def marks(values: Sequence[object]) -> str:
    """As many question marks as there are values."""
    return ",".join("?" * len(values))


def _observation(row: Sequence[Any]) -> Observation:
    cells = [*row[:7], texts_of(row[7]), texts_of(row[8]), *row[9:]]
    return Observation(*cells)
