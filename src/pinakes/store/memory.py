"""Observations on disk: the schema of `memory.db` and every statement that touches it. Leaves judgement to the memory domain."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinakes.store.sqlite import Database, Migration

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

# An observation's row number is its place: the session's key and the position inside that session. Neighbours are
# therefore found by arithmetic on the row numbers that the word index returns, without reading a single row.
POSITION_BITS = 24
_LAST_POSITION = (1 << POSITION_BITS) - 1
# Observations outside any session share one row range per project; the stride keeps them from being neighbours.
_LOOSE_STRIDE = 8

MIGRATIONS = (
    Migration(
        "001-observations",
        """
        CREATE TABLE project (
            key INTEGER PRIMARY KEY, project_id TEXT NOT NULL UNIQUE, root TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL
        );
        CREATE TABLE session (
            key INTEGER PRIMARY KEY, project INTEGER NOT NULL REFERENCES project(key), session_id TEXT,
            agent TEXT NOT NULL DEFAULT '', started_at INTEGER NOT NULL, ended_at INTEGER,
            UNIQUE (project, session_id)
        );
        CREATE TABLE observation (
            place INTEGER PRIMARY KEY, id TEXT NOT NULL, project INTEGER NOT NULL REFERENCES project(key),
            kind TEXT NOT NULL, source TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER, deleted_at INTEGER,
            files TEXT NOT NULL, symbols TEXT NOT NULL, embedding BLOB, embedding_model TEXT,
            names TEXT NOT NULL, text TEXT NOT NULL,
            UNIQUE (id, project)
        );
        CREATE INDEX observation_by_time ON observation (project, created_at);
        CREATE TABLE anchor (
            place INTEGER NOT NULL REFERENCES observation(place) ON DELETE CASCADE,
            path TEXT NOT NULL, symbol TEXT NOT NULL, digest BLOB NOT NULL,
            PRIMARY KEY (place, path, symbol)
        ) WITHOUT ROWID;
        CREATE VIEW live_observation AS SELECT place, names, text FROM observation WHERE deleted_at IS NULL;
        CREATE VIRTUAL TABLE word USING fts5 (
            names, text, content = 'live_observation', content_rowid = 'place', detail = none, columnsize = 0,
            tokenize = 'porter unicode61 remove_diacritics 2'
        );
        CREATE TRIGGER observation_added AFTER INSERT ON observation WHEN new.deleted_at IS NULL BEGIN
            INSERT INTO word (rowid, names, text) VALUES (new.place, new.names, new.text);
        END;
        CREATE TRIGGER observation_hidden AFTER UPDATE OF names, text, deleted_at ON observation WHEN old.deleted_at IS NULL BEGIN
            INSERT INTO word (word, rowid, names, text) VALUES ('delete', old.place, old.names, old.text);
        END;
        CREATE TRIGGER observation_shown AFTER UPDATE OF names, text, deleted_at ON observation WHEN new.deleted_at IS NULL BEGIN
            INSERT INTO word (rowid, names, text) VALUES (new.place, new.names, new.text);
        END;
        CREATE TRIGGER observation_purged AFTER DELETE ON observation WHEN old.deleted_at IS NULL BEGIN
            INSERT INTO word (word, rowid, names, text) VALUES ('delete', old.place, old.names, old.text);
        END;
        """,
    ),
)

_COLUMNS = """o.place, o.id, o.text, o.kind, o.source, p.project_id, s.session_id, o.files, o.symbols,
    o.created_at, coalesce(o.updated_at, o.created_at), o.deleted_at, o.embedding, o.embedding_model"""
_JOINED = f"""FROM observation o JOIN project p ON p.key = o.project JOIN session s ON s.key = o.place >> {POSITION_BITS}"""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The state of a file, or of one symbol in it, when an observation about it was written."""

    path: str
    symbol: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class Observation:
    """Something worth knowing later. Times are microseconds since 1970 in UTC."""

    place: int
    id: str
    text: str
    kind: str
    source: str
    project_id: str
    session_id: str | None
    files: tuple[str, ...]
    symbols: tuple[str, ...]
    created_at: int
    updated_at: int
    deleted_at: int | None
    embedding: bytes | None
    embedding_model: str | None


@dataclass(frozen=True, slots=True)
class NewObservation:
    """An observation that has no place yet; `names` holds the words inside its identifiers and paths."""

    id: str
    text: str
    kind: str
    source: str
    created_at: int
    names: str = ""
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    updated_at: int | None = None
    deleted_at: int | None = None
    embedding: bytes | None = None
    embedding_model: str | None = None
    anchors: tuple[Anchor, ...] = ()


@dataclass(frozen=True, slots=True)
class Project:
    """A project as memory knows it: its identity and where it was last seen."""

    key: int
    project_id: str
    root: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation with an agent. `session_id` is None for the observations outside any session."""

    key: int
    project_id: str
    session_id: str | None
    agent: str
    started_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class Sketch:
    """As much of an observation as ranking looks at."""

    place: int
    created_at: int
    source: str
    files: tuple[str, ...]
    symbols: tuple[str, ...]
    head: str
    length: int


@dataclass(frozen=True, slots=True)
class Counts:
    """How much is kept."""

    observations: int
    forgotten: int
    sessions: int
    projects: int
    text_characters: int


class MemoryStore:
    """Reads of `memory.db`, and the one way to write to it."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path, MIGRATIONS, durability="FULL", backup_before_migration=True)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """One transaction: on disk when the block ends, or not at all."""
        with self.database.write() as connection:
            yield Writer(connection)

    def by_ids(self, ids: Sequence[str]) -> list[Observation]:
        """All live observations with these ids, of any project."""
        with self.database.snapshot() as connection:
            return [row for chosen in ids for row in _select(connection, "o.id = ? AND o.deleted_at IS NULL", (chosen,))]

    def at_places(self, places: Sequence[int]) -> list[Observation]:
        """The live observations at these places, in the order asked for."""
        found: dict[int, Observation] = {}
        with self.database.snapshot() as connection:
            for some in _batches(places):
                for row in _select(connection, f"o.place IN ({_marks(some)}) AND o.deleted_at IS NULL", some):
                    found[row.place] = row
        return [found[place] for place in places if place in found]

    def sketches(self, places: Sequence[int], *, head_characters: int) -> list[Sketch]:
        """What ranking needs to know about the live observations at these places."""
        sketches: list[Sketch] = []
        with self.database.snapshot() as connection:
            for some in _batches(places):
                rows = connection.execute(
                    f"""SELECT place, created_at, source, files, symbols, substr(text, 1, {head_characters}), length(text)
                        FROM observation WHERE place IN ({_marks(some)}) AND deleted_at IS NULL""",
                    some,
                )
                sketches += [Sketch(r[0], r[1], r[2], _texts(r[3]), _texts(r[4]), r[5], r[6]) for r in rows]
        return sketches

    def projects(self) -> list[Project]:
        """Every project that memory knows."""
        with self.database.snapshot() as connection:
            rows = connection.execute("SELECT key, project_id, root, created_at FROM project ORDER BY key")
            return [Project(*row) for row in rows]

    def sessions(self) -> list[Session]:
        """Every session, in the order of their first write."""
        with self.database.snapshot() as connection:
            rows = connection.execute(
                """SELECT s.key, p.project_id, s.session_id, s.agent, s.started_at, s.ended_at
                   FROM session s JOIN project p ON p.key = s.project ORDER BY s.key"""
            )
            return [Session(*row) for row in rows]

    def session_keys(self, project_keys: Sequence[int]) -> set[int]:
        """The keys of all sessions of these projects."""
        with self.database.snapshot() as connection:
            rows = connection.execute(f"SELECT key FROM session WHERE project IN ({_marks(project_keys)})", tuple(project_keys))
            return {row[0] for row in rows}

    def count(self, project_keys: Sequence[int]) -> int:
        """How many observations these projects have; forgotten ones count too, which ranking does not mind."""
        with self.database.snapshot() as connection:
            sql = f"SELECT count(*) FROM observation INDEXED BY observation_by_time WHERE project IN ({_marks(project_keys)})"
            return int(connection.execute(sql, tuple(project_keys)).fetchone()[0])

    def frequency(self, words: Sequence[str], *, at_most: int) -> int:
        """How many observations have any of `words`; counting stops at `at_most`."""
        sql = "SELECT count(*) FROM (SELECT 1 FROM word WHERE word MATCH ? LIMIT ?)"
        with self.database.snapshot() as connection:
            return int(connection.execute(sql, (match_any(words), at_most)).fetchone()[0])

    def places_with(self, words: Sequence[str], *, at_most: int) -> list[int]:
        """The places of observations that have any of `words`, newest sessions first."""
        sql = "SELECT rowid FROM word WHERE word MATCH ? ORDER BY rowid DESC LIMIT ?"
        with self.database.snapshot() as connection:
            return [row[0] for row in connection.execute(sql, (match_any(words), at_most))]

    def places_between(self, project_keys: Sequence[int], start: int, end: int, *, at_most: int) -> list[int]:
        """The places of live observations created in [start, end), newest first."""
        sql = f"""SELECT place FROM observation WHERE project IN ({_marks(project_keys)})
                  AND created_at >= ? AND created_at < ? AND deleted_at IS NULL ORDER BY created_at DESC LIMIT ?"""
        with self.database.snapshot() as connection:
            return [row[0] for row in connection.execute(sql, (*project_keys, start, end, at_most))]

    def before(self, project_keys: Sequence[int], created_at: int, place: int, *, limit: int) -> list[Observation]:
        """Up to `limit` live observations before that moment, oldest first."""
        where = f"""o.project IN ({_marks(project_keys)}) AND (o.created_at, o.place) < (?, ?) AND o.deleted_at IS NULL
                    ORDER BY o.created_at DESC, o.place DESC LIMIT ?"""
        with self.database.snapshot() as connection:
            return _select(connection, where, (*project_keys, created_at, place, limit))[::-1]

    def after(self, project_keys: Sequence[int], created_at: int, place: int, *, limit: int) -> list[Observation]:
        """Up to `limit` live observations from that moment on, oldest first."""
        where = f"""o.project IN ({_marks(project_keys)}) AND (o.created_at, o.place) > (?, ?) AND o.deleted_at IS NULL
                    ORDER BY o.created_at, o.place LIMIT ?"""
        with self.database.snapshot() as connection:
            return _select(connection, where, (*project_keys, created_at, place, limit))

    def in_session(self, session_id: str, *, limit: int) -> list[Observation]:
        """The last `limit` live observations of the sessions with this id, oldest first."""
        where = "s.session_id = ? AND o.deleted_at IS NULL ORDER BY o.created_at DESC, o.place DESC LIMIT ?"
        with self.database.snapshot() as connection:
            return _select(connection, where, (session_id, limit))[::-1]

    def recent(self, project_keys: Sequence[int], *, limit: int, kinds: Sequence[str] = ()) -> list[Observation]:
        """The newest live observations, newest first; only of `kinds` where given."""
        with self.database.snapshot() as connection:
            return _recent(connection, project_keys, limit, kinds)

    def anchors(self, places: Sequence[int]) -> dict[int, list[Anchor]]:
        """What the observations at these places were written about."""
        anchors: dict[int, list[Anchor]] = {}
        with self.database.snapshot() as connection:
            for some in _batches(places):
                sql = f"SELECT place, path, symbol, digest FROM anchor WHERE place IN ({_marks(some)}) ORDER BY place, path, symbol"
                for place, path, symbol, digest in connection.execute(sql, some):
                    anchors.setdefault(place, []).append(Anchor(path, symbol, digest))
        return anchors

    def all(self) -> Iterator[Observation]:
        """Every observation, forgotten ones too, in the order of their places."""
        place = -1
        while True:
            with self.database.snapshot() as connection:
                rows = _select(connection, "o.place > ? ORDER BY o.place LIMIT 500", (place,))
            if not rows:
                return
            yield from rows
            place = rows[-1].place

    def counts(self) -> Counts:
        """How much is kept in all."""
        with self.database.snapshot() as connection:
            live, forgotten, characters = connection.execute(
                "SELECT count(*) - count(deleted_at), count(deleted_at), coalesce(sum(length(text)), 0) FROM observation"
            ).fetchone()
            sessions = connection.execute("SELECT count(*) FROM session WHERE session_id IS NOT NULL").fetchone()[0]
            projects = connection.execute("SELECT count(*) FROM project").fetchone()[0]
        return Counts(live, forgotten, sessions, projects, characters)


class Writer:
    """Writes inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def project(self, project_id: str, *, root: str, now: int) -> int:
        """The key of a project, created when it is new; a folder that got a better identity keeps its memory."""
        row = self._connection.execute("SELECT key, root FROM project WHERE project_id = ?", (project_id,)).fetchone()
        if row is None and root:
            row = self._adopt(project_id, root)
        if row is None:
            sql = "INSERT INTO project (project_id, root, created_at) VALUES (?, ?, ?) RETURNING key"
            return int(self._connection.execute(sql, (project_id, root, now)).fetchone()[0])
        if root and row[1] != root:
            self._connection.execute("UPDATE project SET root = ? WHERE key = ?", (root, row[0]))
        return int(row[0])

    def _adopt(self, project_id: str, root: str) -> tuple[int, str] | None:
        """Rename the project that was known only by this folder or by its first commit before it had a remote."""
        sql = "SELECT key, root FROM project WHERE root = ? AND (project_id LIKE 'path:%' OR project_id LIKE 'git:%')"
        row: tuple[int, str] | None = self._connection.execute(sql, (root,)).fetchone()
        if row is not None:
            self._connection.execute("UPDATE project SET project_id = ? WHERE key = ?", (project_id, row[0]))
        return row

    def session(self, project: int, session_id: str | None, *, agent: str, now: int) -> int:
        """The key of a session, created when it is new."""
        sql = "SELECT key FROM session WHERE project = ? AND session_id IS ?"
        row = self._connection.execute(sql, (project, session_id)).fetchone()
        if row is None:
            sql = "INSERT INTO session (project, session_id, agent, started_at) VALUES (?, ?, ?, ?) RETURNING key"
            row = self._connection.execute(sql, (project, session_id, agent, now)).fetchone()
        return int(row[0])

    def describe_session(self, key: int, *, agent: str, started_at: int, ended_at: int | None) -> None:
        """Set what is known about a session."""
        sql = "UPDATE session SET agent = ?, started_at = ?, ended_at = ? WHERE key = ?"
        self._connection.execute(sql, (agent, started_at, ended_at, key))

    def end_session(self, key: int, now: int) -> None:
        """Note when a session ended; one that goes on later simply ends again."""
        self._connection.execute("UPDATE session SET ended_at = ? WHERE key = ?", (now, key))

    def last_created_at(self, session: int) -> int | None:
        """When the last observation of a session was created."""
        sql = "SELECT created_at FROM observation WHERE place = (SELECT max(place) FROM observation WHERE place BETWEEN ? AND ?)"
        row = self._connection.execute(sql, _range(session)).fetchone()
        return None if row is None else int(row[0])

    def recent(self, project: int, *, limit: int) -> list[Observation]:
        """The newest live observations of a project, newest first."""
        return _recent(self._connection, (project,), limit, ())

    def in_session(self, session: int, *, limit: int) -> list[Observation]:
        """The last live observations of a session, newest first."""
        where = "o.place BETWEEN ? AND ? AND o.deleted_at IS NULL ORDER BY o.place DESC LIMIT ?"
        return _select(self._connection, where, (*_range(session), limit))

    def find(self, project: int, observation_id: str) -> Observation | None:
        """The observation of that id in a project, forgotten or not."""
        rows = _select(self._connection, "o.id = ? AND o.project = ?", (observation_id, project))
        return rows[0] if rows else None

    def insert(self, project: int, session: int, new: NewObservation) -> int:
        """Store an observation at the end of its session and answer its place."""
        place = self._next_place(session)
        self._connection.execute(
            """INSERT INTO observation (place, id, project, kind, source, created_at, updated_at, deleted_at, files, symbols,
               embedding, embedding_model, names, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (place, new.id, project, *_values(new)),
        )
        self._write_anchors(place, new.anchors)
        return place

    def replace(self, place: int, new: NewObservation) -> None:
        """Give the observation at `place` new content; its id and place stay."""
        self._connection.execute(
            """UPDATE observation SET kind = ?, source = ?, created_at = ?, updated_at = ?, deleted_at = ?, files = ?, symbols = ?,
               embedding = ?, embedding_model = ?, names = ?, text = ? WHERE place = ?""",
            (*_values(new), place),
        )
        self._connection.execute("DELETE FROM anchor WHERE place = ?", (place,))
        self._write_anchors(place, new.anchors)

    def touch(self, place: int, now: int) -> None:
        """Note that the observation was made again."""
        self._connection.execute("UPDATE observation SET updated_at = ? WHERE place = ?", (now, place))

    def mark_deleted(self, place: int, now: int | None) -> None:
        """Hide an observation from every answer, or with None show it again."""
        self._connection.execute("UPDATE observation SET deleted_at = ? WHERE place = ?", (now, place))

    def with_id(self, observation_id: str) -> list[Observation]:
        """All observations of that id, forgotten or not."""
        return _select(self._connection, "o.id = ?", (observation_id,))

    def purge(self, before: int) -> int:
        """Remove for good what was forgotten before a moment; how many went."""
        return self._connection.execute("DELETE FROM observation WHERE deleted_at < ?", (before,)).rowcount

    def rebuild_words(self) -> None:
        """Make the word index anew from the rows."""
        self._connection.execute("INSERT INTO word (word) VALUES ('rebuild')")

    def check_words(self) -> None:
        """Let SQLite compare the word index with the rows; it raises when they differ."""
        self._connection.execute("INSERT INTO word (word, rank) VALUES ('integrity-check', 1)")

    def _next_place(self, session: int) -> int:
        first, last = _range(session)
        sql = "SELECT max(o.place), s.session_id FROM session s LEFT JOIN observation o ON o.place BETWEEN ? AND ? WHERE s.key = ?"
        highest, session_id = self._connection.execute(sql, (first, last, session)).fetchone()
        stride = 1 if session_id is not None else _LOOSE_STRIDE
        return first if highest is None else int(highest) + stride

    def _write_anchors(self, place: int, anchors: Iterable[Anchor]) -> None:
        rows = [(place, anchor.path, anchor.symbol, anchor.digest) for anchor in anchors]
        self._connection.executemany("INSERT OR REPLACE INTO anchor VALUES (?, ?, ?, ?)", rows)


def match_any(words: Sequence[str]) -> str:
    """An FTS5 query for any of `words`, each quoted: no word can become query syntax."""
    return " OR ".join('"' + word.replace('"', '""') + '"' for word in words)


def session_of(place: int) -> int:
    """The key of the session that a place belongs to."""
    return place >> POSITION_BITS


def _range(session: int) -> tuple[int, int]:
    return session << POSITION_BITS, (session << POSITION_BITS) + _LAST_POSITION


def _select(connection: sqlite3.Connection, where: str, values: Sequence[object]) -> list[Observation]:
    rows = connection.execute(f"SELECT {_COLUMNS} {_JOINED} WHERE {where}", tuple(values))
    return [Observation(*row[:7], _texts(row[7]), _texts(row[8]), *row[9:]) for row in rows]


def _recent(
    connection: sqlite3.Connection, project_keys: Sequence[int], limit: int, kinds: Sequence[str]
) -> list[Observation]:
    chosen = f"AND o.kind IN ({_marks(kinds)})" if kinds else ""
    where = f"""o.project IN ({_marks(project_keys)}) AND o.deleted_at IS NULL {chosen}
                ORDER BY o.created_at DESC, o.place DESC LIMIT ?"""
    return _select(connection, where, (*project_keys, *kinds, limit))


def _values(new: NewObservation) -> tuple[object, ...]:
    updated_at = None if new.updated_at == new.created_at else new.updated_at
    return (
        new.kind, new.source, new.created_at, updated_at, new.deleted_at, _joined(new.files), _joined(new.symbols),
        new.embedding, new.embedding_model, new.names, new.text,
    )


def _joined(texts: tuple[str, ...]) -> str:
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":")) if texts else ""


def _texts(joined: str) -> tuple[str, ...]:
    return tuple(json.loads(joined)) if joined else ()


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def _batches(places: Sequence[int], size: int = 500) -> Iterator[Sequence[int]]:
    for start in range(0, len(places), size):
        yield places[start : start + size]
