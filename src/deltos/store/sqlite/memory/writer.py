"""Writes to `memory.db` within one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.observation_rows import (
    CONTENT_COLUMNS,
    NO_SESSION_STRIDE,
    content_values,
    id_digest,
    mark_assignments,
)
from deltos.store.observations import Anchor, NewObservation, session_range
from deltos.store.sqlite.memory.rows import placeholders

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence


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

    def _project_row(self, project_id: str, folder: str) -> tuple[int, str] | None:
        sql = "SELECT key, root FROM project WHERE project_id = ? AND folder = ?"
        row: tuple[int, str] | None = self._connection.execute(sql, (project_id, folder)).fetchone()
        return row

    def _adopt_root(self, project_id: str, root: str) -> str:
        """Return the project id to use for a root folder that may already be stored under another project id.

        A project id that contains the path is temporary. It is replaced once the project id based on the first commit
        or the git remote is known. All observations of the root are then moved to the new project id.
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
        """Change the project id of the selected projects. If the new project id has the same folder, merge both."""
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

    def record_shown(self, key: int, now: int) -> int | None:
        (before,) = self._connection.execute("SELECT shown_at FROM session WHERE key = ?", (key,)).fetchone()
        self._connection.execute("UPDATE session SET shown_at = ? WHERE key = ?", (now, key))
        return None if before is None else int(before)

    def insert(self, project: int, session: int, new: NewObservation) -> int:
        place = self._next_place(session)
        columns = ("place", "id", "project", *CONTENT_COLUMNS)
        self._connection.execute(
            f"INSERT INTO observation ({', '.join(columns)}) VALUES ({placeholders(columns)})",
            (place, new.id, project, *content_values(new)),
        )
        self._write_anchors(place, new.anchors)
        return place

    def replace(self, place: int, new: NewObservation) -> None:
        assigned = ", ".join(f"{column} = ?" for column in CONTENT_COLUMNS)
        self._connection.execute(f"UPDATE observation SET {assigned} WHERE place = ?", (*content_values(new), place))
        self._connection.execute("DELETE FROM anchor WHERE place = ?", (place,))
        self._write_anchors(place, new.anchors)

    def update(self, place: int, **marks: object) -> None:
        sql = f"UPDATE observation SET {mark_assignments(marks, '?')} WHERE place = ?"
        self._connection.execute(sql, (*marks.values(), place))

    def add_anchors(self, place: int, anchors: Sequence[Anchor]) -> None:
        self._write_anchors(place, anchors)

    def purge(self, before: int, projects: Sequence[int] | None = None) -> int:
        of_some = "" if projects is None else f"AND project IN ({placeholders(projects)})"
        where, values = f"WHERE deleted_at < ? {of_some}", (before, *(projects or ()))
        gone = self._connection.execute(f"SELECT id FROM observation {where}", values).fetchall()
        self._connection.executemany("INSERT OR IGNORE INTO purged VALUES (?)", [(id_digest(row[0]),) for row in gone])
        count = self._connection.execute(f"DELETE FROM observation {where}", values).rowcount
        if count:
            self.rebuild_words()  # FTS5 segments contain deleted words until the segments are merged
        return count

    def record_exported(self, target: bytes, number: int) -> None:
        self._connection.execute("INSERT OR REPLACE INTO exported VALUES (?, ?)", (target, number))

    def record_distilled(self, keys: Iterable[bytes]) -> None:
        self._connection.executemany("INSERT OR IGNORE INTO mined_event VALUES (?)", [(key,) for key in keys])

    def rebuild_words(self) -> None:
        """Rebuild the word index from the rows of observations."""
        self._connection.execute("INSERT INTO word (word) VALUES ('rebuild')")

    def check_words(self) -> None:
        """Compare the word index with the rows of observations. SQLite raises an error if the contents differ."""
        self._connection.execute("INSERT INTO word (word, rank) VALUES ('integrity-check', 1)")

    def _next_place(self, session: int) -> int:
        first, last = session_range(session)
        sql = "SELECT max(place) FROM observation WHERE place BETWEEN ? AND ?"
        highest = self._connection.execute(sql, (first, last)).fetchone()[0]
        stride = NO_SESSION_STRIDE if self._is_outside_sessions(session) else 1
        return first if highest is None else int(highest) + stride

    def _is_outside_sessions(self, session: int) -> bool:
        row = self._connection.execute("SELECT session_id FROM session WHERE key = ?", (session,)).fetchone()
        return row[0] is None

    def _write_anchors(self, place: int, anchors: Iterable[Anchor]) -> None:
        rows = [(place, anchor.path, anchor.symbol, anchor.digest) for anchor in anchors]
        self._connection.executemany("INSERT OR REPLACE INTO anchor VALUES (?, ?, ?, ?)", rows)
