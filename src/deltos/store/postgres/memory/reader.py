"""Queries on memory in PostgreSQL, and its write transaction."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from deltos.store.observation_rows import id_digest, summary_from_row
from deltos.store.observations import (
    Anchor,
    MemoryCounts,
    Observation,
    ObservationSummary,
    ProjectRow,
    RepairReport,
    SessionRow,
    session_range,
)
from deltos.store.postgres.memory.rows import projects_of, select, select_by_place
from deltos.store.postgres.memory.writer import PostgresObservationsWriter
from deltos.store.postgres.posting_index import stemmed_terms, stored_term

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.postgres.database import PostgresDatabase
    from deltos.store.postgres.memory.snapshots import Snapshots
    from deltos.store.postgres.vectors import PostgresVectors

_PAGE_ROWS = 500
# Tables that contain texts or words of observations.
_TABLES = (
    "observation",
    "observation_posting",
    "observation_place",
    "observation_anchor",
    "observation_vector",
    "memory_snapshot_part",
)
# SQL that makes writes to memory wait for the disk, even if the server's default is not to wait. Stronger settings of
# synchronous_commit are not changed.
_WAIT_FOR_DISK = """CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
    THEN set_config('synchronous_commit', 'on', true) END"""
_LOCK_WRITES = f"SELECT pg_advisory_xact_lock(hashtext('deltos memory')), {_WAIT_FOR_DISK}"


class PostgresObservations:
    """Implementation of `store.observations.Observations`. Closing it does not close the database."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.database = database

    @property
    def damaged_file(self) -> str:
        return ""  # only the administrator repairs a damaged database; it is never replaced

    @property
    def size_bytes(self) -> int:
        sql = """SELECT sum(pg_total_relation_size(part.relid))
                 FROM unnest(%s::text[]) AS t (name), pg_partition_tree(t.name::regclass) part"""
        return int(self._query(sql, (list(_TABLES),))[0][0] or 0)

    @property
    def vectors(self) -> PostgresVectors:
        # imported here, because hooks do not use vectors
        from deltos.store.postgres.vectors import OBSERVATIONS, PostgresVectors

        return PostgresVectors(self.database, OBSERVATIONS)

    def close(self) -> None:
        pass

    def scrub(self) -> bool:
        return self.database.rewrite(_TABLES)

    # ------------------------------------------------------------------ copies

    @property
    def _snapshots(self) -> Snapshots:
        from deltos.store.postgres.memory.snapshots import Snapshots  # imported here, because hooks rarely need it

        return Snapshots(self.database)

    def copies(self) -> list[str]:
        return sorted(copy.name for copy in self._snapshots.all())

    def keep_snapshot(self, day: str, *, kept: int, max_bytes: int = 0) -> bool:
        if max_bytes and self.size_bytes > max_bytes:
            return False
        return self._snapshots.keep(day, kept=kept)

    def drop_snapshots(self) -> None:
        self._snapshots.drop()

    def repair(self) -> RepairReport:
        problems: list[str] = []
        with self.writing() as writer:
            if writer.directory_differs():
                problems.append("the observation directory did not match the observations")
                writer.rebuild_directory()
            if writer.word_index_differs():
                problems.append("the word index did not match the observations")
                writer.rebuild_words()
        return RepairReport(tuple(problems), (), tuple(self._snapshots.all()))

    # ------------------------------------------------------------------ transactions

    def snapshot(self) -> AbstractContextManager[object]:
        return self.database.snapshot()

    @contextmanager
    def writing(self) -> Iterator[PostgresObservationsWriter]:
        with self.database.write() as connection:
            connection.execute(_LOCK_WRITES)
            yield PostgresObservationsWriter(connection)

    def _query(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self.database.query(sql, values)

    # ------------------------------------------------------------------ observations

    def by_ids(self, ids: Sequence[str], *, project: int | None = None) -> list[Observation]:
        with self.database.snapshot():
            sql = "SELECT place FROM observation_place WHERE id = %s AND (%s OR project = %s)"
            places = ([row[0] for row in self._query(sql, (one, project is None, project))] for one in ids)
            return [row for found in places for row in select_by_place(self._query, found)]

    def was_purged(self, observation_id: str) -> bool:
        return bool(self._query("SELECT 1 FROM memory_purged WHERE key = %s", (id_digest(observation_id),)))

    def at_row_numbers(self, places: Sequence[int]) -> list[Observation]:
        with self.database.snapshot():
            found = {row.place: row for row in select_by_place(self._query, places, "o.deleted_at IS NULL")}
        return [found[place] for place in places if place in found]

    def summaries(self, places: Sequence[int], *, head_characters: int) -> list[ObservationSummary]:
        with self.database.snapshot():
            rows = self._query(
                f"""SELECT place, created_at, source, files, symbols,
                           left(text, {head_characters}), length(text), kind, right(text, 1)
                    FROM observation WHERE project = ANY(%s) AND place = ANY(%s)
                    AND deleted_at IS NULL AND superseded_by IS NULL ORDER BY place""",
                (projects_of(self._query, places), list(places)),
            )
        return [*map(summary_from_row, rows)]

    def anchors(self, places: Sequence[int]) -> dict[int, list[Anchor]]:
        anchors: dict[int, list[Anchor]] = {}
        sql = "SELECT place, path, symbol, digest FROM observation_anchor WHERE place = ANY(%s) ORDER BY 1, 2, 3"
        for place, path, symbol, digest in self._query(sql, (list(places),)):
            anchors.setdefault(place, []).append(Anchor(path, symbol, digest))
        return anchors

    # ------------------------------------------------------------------ projects and sessions

    def projects(self) -> list[ProjectRow]:
        rows = self._query("SELECT key, project_id, folder, root, created_at FROM memory_project ORDER BY key")
        return [ProjectRow(*row) for row in rows]

    def sessions(self) -> list[SessionRow]:
        rows = self._query(
            """SELECT s.key, p.project_id, p.folder, s.session_id, s.agent, s.started_at, s.ended_at
               FROM memory_session s JOIN memory_project p ON p.key = s.project ORDER BY s.key"""
        )
        return [SessionRow(*row) for row in rows]

    def session_keys(self, project_keys: Sequence[int]) -> set[int]:
        rows = self._query("SELECT key FROM memory_session WHERE project = ANY(%s)", (list(project_keys),))
        return {row[0] for row in rows}

    def session_observations(self, session_id: str, *, limit: int) -> list[Observation]:
        sql = "SELECT key FROM memory_session WHERE md5(session_id) = md5(%s) AND session_id = %s"
        with self.database.snapshot():
            keys = self._query(sql, (session_id, session_id))
            found = [row for (key,) in keys for row in self.latest_in_session(key, limit=limit)]
        return sorted(found, key=lambda row: (row.created_at, row.place))[-limit:]

    def latest_in_session(self, session: int, *, limit: int) -> list[Observation]:
        places = session_range(session)
        where = """o.project = ANY(%s) AND o.place BETWEEN %s AND %s AND o.deleted_at IS NULL
            ORDER BY o.place DESC LIMIT %s"""
        with self.database.snapshot():
            sql = "SELECT DISTINCT project FROM observation_place WHERE place BETWEEN %s AND %s"
            projects = [row[0] for row in self._query(sql, places)]
            return select(self._query, where, (projects, *places, limit))

    def folder_of_session(self, project_id: str, session_id: str) -> str | None:
        sql = """SELECT p.folder FROM memory_session s JOIN memory_project p ON p.key = s.project
                 WHERE p.project_id = %s AND md5(s.session_id) = md5(%s) AND s.session_id = %s
                 ORDER BY s.key DESC LIMIT 1"""
        rows = self._query(sql, (project_id, session_id, session_id))
        return str(rows[0][0]) if rows else None

    # ------------------------------------------------------------------ queries by word

    def frequency(self, words: Sequence[str], *, at_most: int, project_keys: Sequence[int] | None = None) -> int:
        with self.database.snapshot():
            keys = self._all_keys() if project_keys is None else list(project_keys)
            sql = """SELECT count(*) FROM (SELECT DISTINCT place FROM observation_posting
                     WHERE project = ANY(%s) AND term = ANY(%s) LIMIT %s) found"""
            return int(self._query(sql, (keys, _stored_terms(words), at_most))[0][0])

    def row_numbers_with(
        self, words: Sequence[str], *, at_most: int, project_keys: Sequence[int] | None = None
    ) -> list[int]:
        with self.database.snapshot():
            keys = self._all_keys() if project_keys is None else list(project_keys)
            rows = self._query(
                """SELECT DISTINCT place FROM observation_posting WHERE project = ANY(%s) AND term = ANY(%s)
                   ORDER BY place DESC LIMIT %s""",
                (keys, _stored_terms(words), at_most),
            )
        return [row[0] for row in rows]

    def _all_keys(self) -> list[int]:
        """Return the keys of all projects, for queries that need a list of project keys."""
        return [row[0] for row in self._query("SELECT key FROM memory_project")]

    # ------------------------------------------------------------------ queries by time

    def row_numbers_between(
        self, project_keys: Sequence[int], start: int, end: int, *, at_most: int, kinds: Sequence[str] = ()
    ) -> list[int]:
        found = self._newest_positions(
            project_keys,
            "created_at >= %s AND created_at < %s AND (%s OR kind = ANY(%s))",
            (start, end, not kinds, list(kinds)),
            at_most,
        )
        return [place for _, place in found]

    def _newest_positions(
        self, project_keys: Sequence[int], where: str, values: Sequence[object], limit: int
    ) -> list[tuple[int, int]]:
        """Return (creation time, row number) of the newest undeleted observations of the projects, newest first."""
        sql = f"""SELECT created_at, place FROM observation WHERE project = ANY(%s) AND {where} AND deleted_at IS NULL
                  ORDER BY created_at DESC, place DESC LIMIT %s"""
        return [(created_at, place) for created_at, place in self._query(sql, (list(project_keys), *values, limit))]

    def observations_after(
        self, project_keys: Sequence[int], created_at: int, place: int, *, limit: int
    ) -> list[Observation]:
        where = """o.project = ANY(%s) AND (o.created_at, o.place) > (%s, %s) AND o.deleted_at IS NULL
                   ORDER BY o.created_at, o.place LIMIT %s"""
        return select(self._query, where, (list(project_keys), created_at, place, limit))

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
        where = f"""o.project = ANY(%s) AND (o.created_at, o.place) < (%s, %s)
                    AND o.deleted_at IS {"NOT NULL" if deleted else "NULL"} AND (%s OR o.kind = ANY(%s))
                    ORDER BY o.created_at DESC, o.place DESC LIMIT %s"""
        return select(self._query, where, (list(project_keys), created_at, place, not kinds, list(kinds), limit))

    def recent_observations(
        self, project_keys: Sequence[int], *, limit: int, kinds: Sequence[str] = ()
    ) -> list[Observation]:
        where = """o.project = ANY(%s) AND (%s OR o.kind = ANY(%s)) AND o.superseded_by IS NULL
                   AND o.deleted_at IS NULL ORDER BY o.created_at DESC, o.place DESC LIMIT %s"""
        return select(self._query, where, (list(project_keys), not kinds, list(kinds), limit))

    def pinned_observations(self, project_keys: Sequence[int], *, limit: int) -> list[Observation]:
        where = """o.project = ANY(%s) AND o.pinned_at IS NOT NULL AND o.deleted_at IS NULL
                   AND o.superseded_by IS NULL ORDER BY o.pinned_at DESC, o.place DESC LIMIT %s"""
        return select(self._query, where, (list(project_keys), limit))

    # ------------------------------------------------------------------ counts

    def count(self, project_keys: Sequence[int]) -> int:
        every = "SELECT count(*) FROM observation WHERE project = ANY(%s)"
        sql = f"SELECT ({every}) - ({every} AND deleted_at IS NOT NULL)"
        return int(self._query(sql, (list(project_keys), list(project_keys)))[0][0])

    def counts_by_kind(self, project_keys: Sequence[int]) -> dict[str, tuple[int, int]]:
        sql = """SELECT kind, count(*) - count(deleted_at), count(deleted_at) FROM observation
                 WHERE project = ANY(%s) GROUP BY kind ORDER BY 2 DESC, kind COLLATE "C" """
        return {kind: (live, deleted) for kind, live, deleted in self._query(sql, (list(project_keys),))}

    def counts(self) -> MemoryCounts:
        with self.database.snapshot():
            [(live, deleted, characters)] = self._query(
                """SELECT count(*) - count(deleted_at), count(deleted_at), coalesce(sum(length(text)), 0)::bigint
                   FROM observation"""
            )
            [(sessions,)] = self._query("SELECT count(*) FROM memory_session WHERE session_id IS NOT NULL")
            [(projects,)] = self._query("SELECT count(*) FROM memory_project")
        return MemoryCounts(live, deleted, sessions, projects, characters)

    # ------------------------------------------------------------------ export

    def all(self) -> Iterator[Observation]:
        yield from self._iterate_pages("")

    def changed_after(self, number: int) -> Iterator[Observation]:
        yield from self._iterate_pages("change > %s AND", number)

    def _iterate_pages(self, chosen: str, *values: object) -> Iterator[Observation]:
        """Yield the observations selected by a condition on the table `observation_place`, ordered by row number.

        Each page of 500 rows is read in a separate snapshot.
        """
        sql = f"SELECT place FROM observation_place WHERE {chosen} place > %s ORDER BY place LIMIT {_PAGE_ROWS}"
        place = -1
        while True:
            with self.database.snapshot():
                places = [row[0] for row in self._query(sql, (*values, place))]
                rows = select_by_place(self._query, places)
            if not places:
                return
            yield from rows
            place = places[-1]

    def last_change_number(self) -> int:
        return int(self._query("SELECT max(change) FROM observation_place")[0][0] or 0)

    def change_number(self, place: int) -> int:
        rows = self._query("SELECT change FROM observation_place WHERE place = %s", (place,))
        return int(rows[0][0]) if rows else 0

    def last_exported_change(self, target: bytes) -> int:
        rows = self._query("SELECT change FROM memory_exported WHERE target = %s", (target,))
        return int(rows[0][0]) if rows else 0

    def distilled_keys(self, keys: Sequence[bytes]) -> set[bytes]:
        rows = self._query("SELECT key FROM memory_mined_event WHERE key = ANY(%s)", (list(keys),))
        return {row[0] for row in rows}


def _stored_terms(words: Sequence[str]) -> list[str]:
    """Return the words of a query as index terms, in the form in which the tables contain terms."""
    return sorted({stored_term(term) for found in stemmed_terms(words) for term in found})
