"""Writes to memory within one transaction. One writer runs at a time, so that numbers are assigned in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.store.observation_rows import (
    CONTENT_COLUMNS,
    NO_SESSION_STRIDE,
    content_values,
    id_digest,
    mark_assignments,
)
from deltos.store.observations import Anchor, NewObservation, session_range
from deltos.store.postgres.memory.rows import projects_of
from deltos.store.postgres.posting_index import stemmed_terms, stored_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.store.postgres.database import Connection

_IS_TEMPORARY_IDENTITY = "(starts_with(project_id, 'path:') OR starts_with(project_id, 'git:'))"


class PostgresObservationsWriter:
    """Implementation of `store.observations.ObservationsWriter`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _query(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()

    def _run(self, sql: str, values: Sequence[object] = ()) -> int:
        return self._connection.execute(sql, values).rowcount

    # ------------------------------------------------------------------ projects and sessions

    def upsert_project(self, project_id: str, *, root: str, now: int, folder: str = "") -> int:
        row = self._project_row(project_id, folder)
        if row is None and root:
            project_id = self._adopt_root(project_id, root)
            row = self._project_row(project_id, folder)
        if row is None:
            sql = """INSERT INTO memory_project (project_id, folder, root, created_at)
                     VALUES (%s, %s, %s, %s) RETURNING key"""
            return int(self._query(sql, (project_id, folder, root, now))[0][0])
        key, known_root = row
        if root and known_root != root:
            self._rename_projects(project_id, "root = %s AND starts_with(project_id, 'path:')", (root,))
            self._run("UPDATE memory_project SET root = %s WHERE key = %s", (root, key))
        return key

    def _project_row(self, project_id: str, folder: str) -> tuple[int, str] | None:
        sql = """SELECT key, root FROM memory_project WHERE md5(project_id) = md5(%s) AND md5(folder) = md5(%s)
                 AND project_id = %s AND folder = %s"""
        rows = self._query(sql, (project_id, folder, project_id, folder))
        return (rows[0][0], rows[0][1]) if rows else None

    def _adopt_root(self, project_id: str, root: str) -> str:
        """Return the project id to use for a root folder that may already be stored under another project id.

        A project id that contains the path is temporary. It is replaced once the project id based on the first commit
        or the git remote is known. All observations of the root are then moved to the new project id.
        """
        sql = f"""SELECT project_id FROM memory_project
                  WHERE md5(root) = md5(%s) AND root = %s AND project_id <> %s AND {_IS_TEMPORARY_IDENTITY}
                  ORDER BY key LIMIT 1"""
        rows = self._query(sql, (root, root, project_id))
        if not rows:
            return project_id
        if project_id.startswith("path:"):
            return str(rows[0][0])
        self._rename_projects(project_id, "project_id = %s", (rows[0][0],))
        return project_id

    def _rename_projects(self, project_id: str, where: str, values: tuple[object, ...]) -> None:
        """Change the project id of the selected projects. If the new project id has the same folder, merge both."""
        chosen = f"SELECT key, folder FROM memory_project WHERE {where} AND project_id <> %s ORDER BY key"
        for other, folder in self._query(chosen, (*values, project_id)):
            row = self._project_row(project_id, folder)
            if row is None:
                self._run("UPDATE memory_project SET project_id = %s WHERE key = %s", (project_id, other))
            else:
                self._merge_into(row[0], other)

    def _merge_into(self, key: int, other: int) -> None:
        """Move all records from project `other` to project `key`."""
        taken = "session_id IN (SELECT session_id FROM memory_session WHERE project = %s)"
        renamed = f"CASE WHEN {taken} THEN session_id || ' ' || key ELSE session_id END"
        self._run(
            f"UPDATE memory_session SET session_id = {renamed}, project = %s WHERE project = %s", (key, key, other)
        )
        free = "id NOT IN (SELECT id FROM observation WHERE project = %s)"
        moved = self._query(
            f"UPDATE observation SET project = %s WHERE project = %s AND {free} RETURNING place", (key, other, key)
        )
        places = [row[0] for row in moved]
        for table in ("observation_posting", "observation_place"):
            self._run(f"UPDATE {table} SET project = %s WHERE project = %s AND place = ANY(%s)", (key, other, places))
        self._record_changes(places)
        empty = "NOT EXISTS (SELECT 1 FROM observation WHERE project = %s)"
        self._run(f"DELETE FROM memory_project WHERE key = %s AND {empty}", (other, other))

    def upsert_session(self, project: int, session_id: str | None, *, agent: str, now: int) -> int:
        sql = "SELECT key FROM memory_session WHERE project = %s AND session_id IS NOT DISTINCT FROM %s ORDER BY key"
        rows = self._query(sql, (project, session_id)) or self._query(
            """INSERT INTO memory_session (project, session_id, agent, started_at)
               VALUES (%s, %s, %s, %s) RETURNING key""",
            (project, session_id, agent, now),
        )
        return int(rows[0][0])

    def update_session(self, key: int, *, agent: str, started_at: int, ended_at: int | None) -> None:
        self._run(
            """UPDATE memory_session SET agent = greatest(agent, %s), started_at = least(started_at, %s),
               ended_at = greatest(ended_at, %s::bigint) WHERE key = %s""",
            (agent, started_at, ended_at, key),
        )

    def update_project(self, key: int, *, root: str, created_at: int) -> None:
        self._run("UPDATE memory_project SET created_at = least(created_at, %s) WHERE key = %s", (created_at, key))
        is_free = "NOT EXISTS (SELECT 1 FROM memory_project WHERE md5(root) = md5(%s) AND root = %s)"
        sql = f"UPDATE memory_project SET root = %s WHERE key = %s AND root = '' AND {is_free}"
        self._run(sql, (root, key, root, root))

    def record_shown(self, key: int, now: int) -> int | None:
        [(before,)] = self._query("SELECT shown_at FROM memory_session WHERE key = %s", (key,))
        self._run("UPDATE memory_session SET shown_at = %s WHERE key = %s", (now, key))
        return None if before is None else int(before)

    # ------------------------------------------------------------------ observations

    def insert(self, project: int, session: int, new: NewObservation) -> int:
        place = self._next_place(session)
        words = words_of(new.names, new.text)
        marks = ", ".join(["%s"] * 21)
        self._run(
            f"""WITH added AS (
                    INSERT INTO observation (place, id, project, {", ".join(CONTENT_COLUMNS)}, words) VALUES ({marks})
                ) INSERT INTO observation_place VALUES (%s, %s, %s, nextval('observation_change'))""",
            (place, new.id, project, *content_values(new), words, place, project, new.id),
        )
        if new.deleted_at is None:
            self._index_observation(project, place, words)
        self._write_anchors(place, new.anchors)
        return place

    def replace(self, place: int, new: NewObservation) -> None:
        for project in self._projects_at(place):
            assigned = ", ".join(f"{column} = %s" for column in (*CONTENT_COLUMNS, "words"))
            words = words_of(new.names, new.text)
            self._unindex_observation(project, place)
            self._run(
                f"UPDATE observation SET {assigned} WHERE project = %s AND place = %s",
                (*content_values(new), words, project, place),
            )
            if new.deleted_at is None:
                self._index_observation(project, place, words)
            self._record_changes([place])
        self._run("DELETE FROM observation_anchor WHERE place = %s", (place,))
        self._write_anchors(place, new.anchors)

    def update(self, place: int, **marks: object) -> None:
        sql = (
            f"UPDATE observation SET {mark_assignments(marks, '%s')} WHERE project = %s AND place = %s RETURNING words"
        )
        for project in self._projects_at(place):
            if "deleted_at" in marks:
                self._unindex_observation(project, place)
            [(words,)] = self._query(sql, (*marks.values(), project, place))
            if marks.get("deleted_at", 0) is None:
                self._index_observation(project, place, words)
            self._record_changes([place])

    def add_anchors(self, place: int, anchors: Sequence[Anchor]) -> None:
        self._write_anchors(place, anchors)

    # ------------------------------------------------------------------ purges, exports and imports

    def purge(self, before: int, projects: Sequence[int] | None = None) -> int:
        gone = self._query(
            "DELETE FROM observation WHERE deleted_at < %s AND (%s OR project = ANY(%s)) RETURNING place, id",
            (before, projects is None, list(projects or ())),
        )
        places = [row[0] for row in gone]
        with self._connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO memory_purged VALUES (%s) ON CONFLICT DO NOTHING", [(id_digest(row[1]),) for row in gone]
            )
        for table, column in (
            ("observation_place", "place"),
            ("observation_anchor", "place"),
            ("observation_vector", "key"),
        ):
            self._run(f"DELETE FROM {table} WHERE {column} = ANY(%s)", (places,))
        return len(gone)

    def record_exported(self, target: bytes, number: int) -> None:
        self._run(
            "INSERT INTO memory_exported VALUES (%s, %s) ON CONFLICT (target) DO UPDATE SET change = excluded.change",
            (target, number),
        )

    def record_distilled(self, keys: Iterable[bytes]) -> None:
        self._run(
            "INSERT INTO memory_mined_event SELECT DISTINCT unnest(%s::bytea[]) ON CONFLICT DO NOTHING", (list(keys),)
        )

    # ------------------------------------------------------------------ words

    def directory_differs(self) -> bool:
        """Whether the table `observation_place` (the directory of observations) differs from the observations."""
        there, directory = (
            "SELECT place, project, id FROM observation",
            "SELECT place, project, id FROM observation_place",
        )
        sql = f"SELECT EXISTS (({there} EXCEPT {directory}) UNION ALL ({directory} EXCEPT {there}))"
        return bool(self._query(sql)[0][0])

    def rebuild_directory(self) -> None:
        """Rebuild the table `observation_place` from the observations. All observations then count as changed."""
        self._run("DELETE FROM observation_place")
        self._run(
            """INSERT INTO observation_place (place, project, id, change)
               SELECT place, project, id, nextval('observation_change') FROM observation ORDER BY place"""
        )

    def word_index_differs(self) -> bool:
        """Whether the word index differs from the words of the undeleted observations."""
        live = "SELECT project, unnest(words) AS term, place FROM observation WHERE deleted_at IS NULL"
        kept = "SELECT project, term, place FROM observation_posting"
        sql = f"SELECT EXISTS (({live} EXCEPT {kept}) UNION ALL ({kept} EXCEPT {live}))"
        return bool(self._query(sql)[0][0])

    def rebuild_words(self) -> None:
        """Rebuild the word index from the words of the undeleted observations."""
        self._run("DELETE FROM observation_posting")
        self._run(
            """INSERT INTO observation_posting (project, term, place)
               SELECT project, unnest(words), place FROM observation WHERE deleted_at IS NULL"""
        )

    def _index_observation(self, project: int, place: int, words: Sequence[str]) -> None:
        """Add an undeleted observation to the word index, and record that the vector of the observation is missing."""
        self._run(
            """WITH shown AS (
                   INSERT INTO observation_posting (project, term, place) SELECT %s, unnest(%s::text[]), %s
               ) INSERT INTO observation_vector (key) VALUES (%s)""",
            (project, list(words), place, place),
        )

    def _unindex_observation(self, project: int, place: int) -> None:
        """Remove an observation from the word index, and delete the vector of the observation."""
        self._run(
            """DELETE FROM observation_posting WHERE project = %s AND place = %s AND term = ANY
               (SELECT unnest(words) FROM observation WHERE project = %s AND place = %s)""",
            (project, place, project, place),
        )
        self._run("DELETE FROM observation_vector WHERE key = %s", (place,))

    # ------------------------------------------------------------------ row numbers

    def _projects_at(self, place: int) -> list[int]:
        """Return a list with the project key of an observation, or an empty list if the observation does not exist."""
        return projects_of(self._query, [place])

    def _record_changes(self, places: Sequence[int]) -> None:
        self._run(
            "UPDATE observation_place SET change = nextval('observation_change') WHERE place = ANY(%s)", (list(places),)
        )

    def _next_place(self, session: int) -> int:
        first, last = session_range(session)
        sql = """SELECT (SELECT max(place) FROM observation_place WHERE place BETWEEN %s AND %s),
                        (SELECT session_id IS NULL FROM memory_session WHERE key = %s)"""
        [(highest, is_outside_sessions)] = self._query(sql, (first, last, session))
        stride = NO_SESSION_STRIDE if is_outside_sessions else 1
        return first if highest is None else int(highest) + stride

    def _is_outside_sessions(self, session: int) -> bool:
        return self._query("SELECT session_id FROM memory_session WHERE key = %s", (session,))[0][0] is None

    def _write_anchors(self, place: int, anchors: Sequence[Anchor]) -> None:
        if not anchors:
            return
        with self._connection.cursor() as cursor:
            cursor.executemany(
                """INSERT INTO observation_anchor VALUES (%s, %s, %s, %s)
                   ON CONFLICT (place, md5(path), md5(symbol)) DO UPDATE SET digest = excluded.digest""",
                [(place, anchor.path, anchor.symbol, anchor.digest) for anchor in anchors],
            )


def words_of(names: str, text: str) -> list[str]:
    """Return the distinct index terms of an observation."""
    return sorted({stored_term(term) for terms in stemmed_terms((names, text)) for term in terms})
