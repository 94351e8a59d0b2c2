"""Writes to `memory.db` within one transaction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from deltos.store.observations import Anchor, NewObservation, Observation, session_range
from deltos.store.sqlite.memory.rows import placeholders, select, select_session

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

# Distance between the row numbers of observations outside any session. They share one range per project, and the
# distance prevents unrelated observations from being neighbours.
_NO_SESSION_STRIDE = 8
_MAX_TIME = 2**63 - 1


class SqliteObservationsWriter:
    """Implementation of `store.observations.ObservationsWriter` in a transaction of `memory.db`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def upsert_project(self, project_id: str, *, root: str, now: int, folder: str = "") -> int:
        row = self._project_row(project_id, folder)
        if row is None and root:
            project_id = self._adopt_root(project_id, root)
            row = self._project_row(project_id, folder)
        if row is None:
            sql = "INSERT INTO project (project_id, folder, root, created_at) VALUES (?, ?, ?, ?) RETURNING key"
            return int(self._connection.execute(sql, (project_id, folder, root, now)).fetchone()[0])
        key, known_root = row
        if root and known_root != root:
            self._rename_projects(project_id, "root = ? AND project_id LIKE 'path:%'", (root,))
            self._connection.execute("UPDATE project SET root = ? WHERE key = ?", (root, key))
        return key

    def folder_of_session(self, project_id: str, session_id: str) -> str | None:
        sql = """SELECT p.folder FROM session s JOIN project p ON p.key = s.project
                 WHERE p.project_id = ? AND s.session_id = ? ORDER BY s.key DESC LIMIT 1"""
        row = self._connection.execute(sql, (project_id, session_id)).fetchone()
        return None if row is None else str(row[0])

    def _project_row(self, project_id: str, folder: str) -> tuple[int, str] | None:
        sql = "SELECT key, root FROM project WHERE project_id = ? AND folder = ?"
        row: tuple[int, str] | None = self._connection.execute(sql, (project_id, folder)).fetchone()
        return row

    def _adopt_root(self, project_id: str, root: str) -> str:
        """Return the project identity to use for a root that may already be stored under another identity.

        A path identity is replaced by the identity of the first commit or remote once it is known. All observations of
        the root are moved to the new identity.
        """
        sql = """SELECT project_id FROM project
                 WHERE root = ? AND project_id <> ? AND (project_id LIKE 'path:%' OR project_id LIKE 'git:%')"""
        row = self._connection.execute(sql, (root, project_id)).fetchone()
        if row is None:
            return project_id
        if project_id.startswith("path:"):
            return str(row[0])
        self._rename_projects(project_id, "project_id = ?", (row[0],))
        return project_id

    def _rename_projects(self, project_id: str, where: str, values: tuple[object, ...]) -> None:
        """Change the identity of projects, and merge folders that exist under both identities."""
        chosen = f"SELECT key, folder FROM project WHERE {where} AND project_id <> ?"
        for other, folder in self._connection.execute(chosen, (*values, project_id)).fetchall():
            row = self._project_row(project_id, folder)
            if row is None:
                self._connection.execute("UPDATE project SET project_id = ? WHERE key = ?", (project_id, other))
            else:
                self._merge_into(row[0], other)

    def _merge_into(self, key: int, other: int) -> None:
        """Move all records from project `other` to project `key`."""
        taken = "session_id IN (SELECT session_id FROM session WHERE project = ?)"
        renamed = f"CASE WHEN {taken} THEN session_id || ' ' || key ELSE session_id END"
        self._connection.execute(
            f"UPDATE session SET session_id = {renamed}, project = ? WHERE project = ?", (key, key, other)
        )
        self._connection.execute("UPDATE OR IGNORE observation SET project = ? WHERE project = ?", (key, other))
        empty = "NOT EXISTS (SELECT 1 FROM observation WHERE project = ?)"
        self._connection.execute(f"DELETE FROM project WHERE key = ? AND {empty}", (other, other))

    def upsert_session(self, project: int, session_id: str | None, *, agent: str, now: int) -> int:
        sql = "SELECT key FROM session WHERE project = ? AND session_id IS ?"
        row = self._connection.execute(sql, (project, session_id)).fetchone()
        if row is None:
            row = self._connection.execute(
                """INSERT INTO session (project, session_id, agent, started_at)
                   VALUES (?, ?, ?, ?) RETURNING key""",
                (project, session_id, agent, now),
            ).fetchone()
        return int(row[0])

    def update_session(self, key: int, *, agent: str, started_at: int, ended_at: int | None) -> None:
        self._connection.execute(
            """UPDATE session SET agent = max(agent, ?), started_at = min(started_at, ?),
               ended_at = coalesce(max(ended_at, ?), ended_at, ?) WHERE key = ?""",
            (agent, started_at, ended_at, ended_at, key),
        )

    def update_project(self, key: int, *, root: str, created_at: int) -> None:
        self._connection.execute("UPDATE project SET created_at = min(created_at, ?) WHERE key = ?", (created_at, key))
        is_free = "NOT EXISTS (SELECT 1 FROM project WHERE root = ?)"
        sql = f"UPDATE project SET root = ? WHERE key = ? AND root = '' AND {is_free}"
        self._connection.execute(sql, (root, key, root))

    def end_session(self, key: int, now: int) -> None:
        self._connection.execute("UPDATE session SET ended_at = ? WHERE key = ?", (now, key))

    def record_shown(self, key: int, now: int) -> int | None:
        (before,) = self._connection.execute("SELECT shown_at FROM session WHERE key = ?", (key,)).fetchone()
        self._connection.execute("UPDATE session SET shown_at = ? WHERE key = ?", (now, key))
        return None if before is None else int(before)

    def last_created_at(self, session: int) -> int | None:
        if self._is_outside_sessions(session):
            return None
        sql = "SELECT created_at FROM observation WHERE place BETWEEN ? AND ? ORDER BY place DESC LIMIT 1"
        row = self._connection.execute(sql, session_range(session)).fetchone()
        return None if row is None else int(row[0])

    def recent_observations(
        self, project: int, *, limit: int, until: int | None = None, kinds: Sequence[str] = ()
    ) -> list[Observation]:
        chosen = f"o.kind IN ({placeholders(kinds)}) AND" if kinds else ""
        where = f"""o.project = ? AND {chosen} o.created_at <= ? AND o.deleted_at IS NULL AND o.superseded_by IS NULL
                    ORDER BY o.created_at DESC, o.place DESC LIMIT ?"""
        return select(self._connection, where, (project, *kinds, _MAX_TIME if until is None else until, limit))

    def observations_created_after(
        self, project: int, after: int, *, limit: int, kinds: Sequence[str]
    ) -> list[Observation]:
        where = f"""o.project = ? AND o.kind IN ({placeholders(kinds)}) AND o.created_at > ? AND o.deleted_at IS NULL
                    ORDER BY o.created_at, o.place LIMIT ?"""
        return select(self._connection, where, (project, *kinds, after, limit))

    def session_observations(self, session: int, *, limit: int) -> list[Observation]:
        return select_session(self._connection, session, limit)

    def find(self, project: int, observation_id: str) -> Observation | None:
        rows = select(self._connection, "o.id = ? AND o.project = ?", (observation_id, project))
        return rows[0] if rows else None

    def project_key_of(self, place: int) -> int:
        (key,) = self._connection.execute("SELECT project FROM observation WHERE place = ?", (place,)).fetchone()
        return int(key)

    def observations_containing(self, project: int, part: str) -> list[Observation]:
        return select(self._connection, "o.project = ? AND instr(o.text, ?)", (project, part))

    def insert(self, project: int, session: int, new: NewObservation) -> int:
        place = self._next_place(session)
        self._connection.execute(
            """INSERT INTO observation (place, id, project, kind, source, created_at, updated_at, deleted_at,
            files, symbols,
               embedding, embedding_model, pinned_at, superseded_by, score,
               restored_at, unpinned_at, superseded_at, names, text)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (place, new.id, project, *_column_values(new)),
        )
        self._write_anchors(place, new.anchors)
        return place

    def replace(self, place: int, new: NewObservation) -> None:
        self._connection.execute(
            """UPDATE observation SET kind = ?, source = ?, created_at = ?, updated_at = ?, deleted_at = ?,
            files = ?, symbols = ?,
               embedding = ?, embedding_model = ?, pinned_at = ?, superseded_by = ?, score = ?,
               restored_at = ?, unpinned_at = ?, superseded_at = ?, names = ?, text = ?
               WHERE place = ?""",
            (*_column_values(new), place),
        )
        self._connection.execute("DELETE FROM anchor WHERE place = ?", (place,))
        self._write_anchors(place, new.anchors)

    def replace_marks(self, place: int, new: NewObservation) -> None:
        self._connection.execute(
            """UPDATE observation SET updated_at = nullif(?, created_at), deleted_at = ?, restored_at = ?,
               pinned_at = ?, unpinned_at = ?, superseded_by = ?, superseded_at = ? WHERE place = ?""",
            (
                new.updated_at,
                new.deleted_at,
                new.restored_at,
                new.pinned_at,
                new.unpinned_at,
                new.superseded_by,
                new.superseded_at,
                place,
            ),
        )

    def add_anchors(self, place: int, anchors: Sequence[Anchor]) -> None:
        self._write_anchors(place, anchors)

    def record_repetition(self, place: int, now: int) -> None:
        self._connection.execute("UPDATE observation SET updated_at = ? WHERE place = ?", (now, place))

    def mark_deleted(self, place: int, now: int, *, undo: bool = False) -> None:
        change = "deleted_at = NULL, restored_at = ?" if undo else "deleted_at = ?"
        self._connection.execute(f"UPDATE observation SET {change} WHERE place = ?", (now, place))

    def mark_pinned(self, place: int, now: int, *, undo: bool = False) -> None:
        change = "pinned_at = NULL, unpinned_at = ?" if undo else "pinned_at = ?"
        self._connection.execute(f"UPDATE observation SET {change} WHERE place = ?", (now, place))

    def mark_superseded(self, place: int, by: str | None, now: int) -> None:
        sql = "UPDATE observation SET superseded_by = ?, superseded_at = ? WHERE place = ?"
        self._connection.execute(sql, (by, now, place))

    def observations_with_id(self, observation_id: str) -> list[Observation]:
        return select(self._connection, "o.id = ?", (observation_id,))

    def purge(self, before: int, projects: Sequence[int] | None = None) -> int:
        of_some = "" if projects is None else f"AND project IN ({placeholders(projects)})"
        where, values = f"WHERE deleted_at < ? {of_some}", (before, *(projects or ()))
        gone = self._connection.execute(f"SELECT id FROM observation {where}", values).fetchall()
        self._connection.executemany("INSERT OR IGNORE INTO purged VALUES (?)", [(_id_digest(row[0]),) for row in gone])
        count = self._connection.execute(f"DELETE FROM observation {where}", values).rowcount
        if count:
            self.rebuild_words()  # FTS5 segments contain deleted words until they are merged
        return count

    def was_purged(self, observation_id: str) -> bool:
        sql = "SELECT 1 FROM purged WHERE key = ?"
        return self._connection.execute(sql, (_id_digest(observation_id),)).fetchone() is not None

    def record_exported(self, target: bytes, number: int) -> None:
        self._connection.execute("INSERT OR REPLACE INTO exported VALUES (?, ?)", (target, number))

    def record_distilled(self, keys: Iterable[bytes]) -> None:
        self._connection.executemany("INSERT OR IGNORE INTO mined_event VALUES (?)", [(key,) for key in keys])

    def rebuild_words(self) -> None:
        """Rebuild the word index from the rows."""
        self._connection.execute("INSERT INTO word (word) VALUES ('rebuild')")

    def check_words(self) -> None:
        """Compare the word index with the rows. SQLite raises an error if they differ."""
        self._connection.execute("INSERT INTO word (word, rank) VALUES ('integrity-check', 1)")

    def _next_place(self, session: int) -> int:
        first, last = session_range(session)
        sql = "SELECT max(place) FROM observation WHERE place BETWEEN ? AND ?"
        highest = self._connection.execute(sql, (first, last)).fetchone()[0]
        stride = _NO_SESSION_STRIDE if self._is_outside_sessions(session) else 1
        return first if highest is None else int(highest) + stride

    def _is_outside_sessions(self, session: int) -> bool:
        row = self._connection.execute("SELECT session_id FROM session WHERE key = ?", (session,)).fetchone()
        return row[0] is None

    def _write_anchors(self, place: int, anchors: Iterable[Anchor]) -> None:
        rows = [(place, anchor.path, anchor.symbol, anchor.digest) for anchor in anchors]
        self._connection.executemany("INSERT OR REPLACE INTO anchor VALUES (?, ?, ?, ?)", rows)


def _column_values(new: NewObservation) -> tuple[object, ...]:
    updated_at = None if new.updated_at == new.created_at else new.updated_at
    return (
        new.kind,
        new.source,
        new.created_at,
        updated_at,
        new.deleted_at,
        _join_texts(new.files),
        _join_texts(new.symbols),
        new.embedding,
        new.embedding_model,
        new.pinned_at,
        new.superseded_by,
        new.score,
        new.restored_at,
        new.unpinned_at,
        new.superseded_at,
        new.names,
        new.text,
    )


def _id_digest(observation_id: str) -> bytes:
    from deltos.digest import sha256  # deferred import: hooks do not purge

    return sha256(observation_id.encode("utf-8", "surrogatepass")).digest()[:16]


def _join_texts(texts: tuple[str, ...]) -> str:
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":")) if texts else ""
