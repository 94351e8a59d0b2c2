"""Queries on `memory.db`, and its write transaction."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from deltos.errors import StoreError, StoreUnwritable
from deltos.store.observation_rows import id_digest, summary_from_row
from deltos.store.observations import (
    POSITION_BITS,
    Anchor,
    MemoryCopy,
    MemoryCounts,
    Observation,
    ObservationSummary,
    ProjectRow,
    RepairReport,
    SessionRow,
    session_range,
)
from deltos.store.sqlite.database import BUSY_TIMEOUT_SECONDS, SqliteDatabase, move_aside
from deltos.store.sqlite.fts_query import any_of
from deltos.store.sqlite.memory.rows import newest_positions, placeholders, select
from deltos.store.sqlite.memory.schema import MIGRATIONS
from deltos.store.sqlite.memory.writer import SqliteObservationsWriter

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from deltos.store.sqlite.memory.read_only import ReadableCopy
    from deltos.store.sqlite.vectors import SqliteVectors

_SNAPSHOT_SUFFIX = "daily"
_DAMAGE_HINT = "Run `deltos memory check` to recover the readable observations."


class SqliteObservations:
    """Implementation of `store.observations.Observations` in the file `memory.db`."""

    def __init__(
        self, path: Path, *, busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS, reads_a_copy: bool = False
    ) -> None:
        """Open the file. If `reads_a_copy` is true and the folder is not writable, read a temporary copy."""
        self._path = path
        self._busy_timeout_seconds = busy_timeout_seconds
        self._copy: ReadableCopy | None = None
        try:
            self.database = self._open_database(path)
        except StoreUnwritable as exc:
            if not reads_a_copy or not path.is_file():
                raise
            from deltos.store.sqlite.memory.read_only import ReadableCopy  # imported here, because hooks rarely need it

            self._copy = ReadableCopy(path, exc)
            self.database = self._open_database(self._copy.path)

    def _open_database(self, path: Path) -> SqliteDatabase:
        return SqliteDatabase(
            path,
            MIGRATIONS,
            durability="FULL",
            busy_timeout_seconds=self._busy_timeout_seconds,
            backup_before_migration=True,
            damage_hint=_DAMAGE_HINT,
        )

    @property
    def damaged_file(self) -> str:
        aside = self.database.damaged_file
        return aside.name if aside else ""

    @property
    def size_bytes(self) -> int:
        return self._path.stat().st_size

    @property
    def vectors(self) -> SqliteVectors:
        from deltos.store.sqlite.vectors import OBSERVATIONS, SqliteVectors  # imported here: hooks do not use vectors

        return SqliteVectors(self.database, OBSERVATIONS)

    def close(self) -> None:
        self.database.close()
        if self._copy is not None:
            self._copy.remove()

    def _require_writable(self) -> None:
        if self._copy is not None:
            raise self._copy.write_error

    def scrub(self) -> bool:
        self._require_writable()
        return self.database.scrub()

    def copies(self) -> list[str]:
        path = self._path
        return sorted(
            copy.name
            for mark in ("before", "corrupt", _SNAPSHOT_SUFFIX)
            for copy in path.parent.glob(f"{path.name}.{mark}-*")
        )

    def keep_snapshot(self, day: str, *, kept: int, max_bytes: int = 0) -> bool:
        target = self._path.with_name(f"{self._path.name}.{_SNAPSHOT_SUFFIX}-{day}")
        if self._copy is not None or target.exists() or (max_bytes and self.size_bytes > max_bytes):
            return False
        with self.database.snapshot() as connection:
            if connection.execute("SELECT 1 FROM observation LIMIT 1").fetchone() is None:
                return False  # an empty file must not replace snapshots with content
        self.database.copy_to(target)
        for old in self._snapshots()[kept:]:
            old.unlink(missing_ok=True)
        return True

    def drop_snapshots(self) -> None:
        for snapshot in self._snapshots():
            snapshot.unlink(missing_ok=True)

    def _snapshots(self) -> list[Path]:
        """Return the snapshots, newest first."""
        return sorted(self._path.parent.glob(f"{self._path.name}.{_SNAPSHOT_SUFFIX}-????-??-??"), reverse=True)

    def repair(self) -> RepairReport:
        # Imported here, because hooks never repair the file.
        from deltos.store.sqlite.memory.repair import damaged_files, find_problems, read_damaged_file

        self._require_writable()
        problems = find_problems(self._path)
        if problems:
            self.close()
            move_aside(self._path)
            self.database = self._open_database(self._path)
        elif not self._word_index_matches():
            problems = ["the word index did not match the observations"]
            with self.database.write() as connection:
                SqliteObservationsWriter(connection).rebuild_words()
        aside, snapshots = (
            tuple(
                MemoryCopy(path.name, path.stat().st_size, path.stat().st_mtime, read_damaged_file(path))
                for path in paths
            )
            for paths in (damaged_files(self._path), self._snapshots())
        )
        return RepairReport(tuple(problems), aside, snapshots)

    def _word_index_matches(self) -> bool:
        """Whether the word index matches the rows of observations."""
        try:
            with self.database.write() as connection:
                SqliteObservationsWriter(connection).check_words()
        except StoreError:
            return False
        return True

    def snapshot(self) -> AbstractContextManager[object]:
        return self.database.snapshot()

    @contextmanager
    def writing(self) -> Iterator[SqliteObservationsWriter]:
        self._require_writable()
        with self.database.write() as connection:
            yield SqliteObservationsWriter(connection)

    def by_ids(self, ids: Sequence[str], *, project: int | None = None) -> list[Observation]:
        where, values = ("o.id = ?", ()) if project is None else ("o.id = ? AND o.project = ?", (project,))
        with self.database.snapshot() as connection:
            return [row for chosen in ids for row in select(connection, where, (chosen, *values))]

    def was_purged(self, observation_id: str) -> bool:
        sql = "SELECT 1 FROM purged WHERE key = ?"
        with self.database.snapshot() as connection:
            return connection.execute(sql, (id_digest(observation_id),)).fetchone() is not None

    def at_row_numbers(self, places: Sequence[int]) -> list[Observation]:
        found: dict[int, Observation] = {}
        with self.database.snapshot() as connection:
            for some in _batches(places):
                for row in select(connection, f"o.place IN ({placeholders(some)}) AND o.deleted_at IS NULL", some):
                    found[row.place] = row
        return [found[place] for place in places if place in found]

    def summaries(self, places: Sequence[int], *, head_characters: int) -> list[ObservationSummary]:
        summaries: list[ObservationSummary] = []
        with self.database.snapshot() as connection:
            for some in _batches(places):
                rows = connection.execute(
                    f"""SELECT place, created_at, source, files, symbols,
                               substr(text, 1, {head_characters}), length(text), kind, substr(text, -1)
                        FROM observation
                        WHERE place IN ({placeholders(some)}) AND deleted_at IS NULL AND superseded_by IS NULL""",
                    some,
                )
                summaries += map(summary_from_row, rows)
        return summaries

    def projects(self) -> list[ProjectRow]:
        with self.database.snapshot() as connection:
            rows = connection.execute("SELECT key, project_id, folder, root, created_at FROM project ORDER BY key")
            return [ProjectRow(*row) for row in rows]

    def sessions(self) -> list[SessionRow]:
        with self.database.snapshot() as connection:
            rows = connection.execute(
                """SELECT s.key, p.project_id, p.folder, s.session_id, s.agent, s.started_at, s.ended_at
                   FROM session s JOIN project p ON p.key = s.project ORDER BY s.key"""
            )
            return [SessionRow(*row) for row in rows]

    def session_keys(self, project_keys: Sequence[int]) -> set[int]:
        with self.database.snapshot() as connection:
            rows = connection.execute(
                f"SELECT key FROM session WHERE project IN ({placeholders(project_keys)})", tuple(project_keys)
            )
            return {row[0] for row in rows}

    def count(self, project_keys: Sequence[int]) -> int:
        with self.database.snapshot() as connection:
            every = f"SELECT count(*) FROM observation WHERE project IN ({placeholders(project_keys)})"
            # One query counts all observations and another one the deleted observations, so that each query uses an
            # index. One query with a combined condition would read all rows.
            deleted = f"{every} AND deleted_at IS NOT NULL"
            sql = f"SELECT ({every}) - ({deleted})"
            return int(connection.execute(sql, (*project_keys, *project_keys)).fetchone()[0])

    def frequency(self, words: Sequence[str], *, at_most: int, project_keys: Sequence[int] | None = None) -> int:
        with self.database.snapshot() as connection:
            project_filter, keys = _project_filter(connection, project_keys)
            sql = f"SELECT count(*) FROM (SELECT 1 FROM word WHERE word MATCH ? {project_filter} LIMIT ?)"
            return int(connection.execute(sql, (any_of(words), *keys, at_most)).fetchone()[0])

    def row_numbers_with(
        self, words: Sequence[str], *, at_most: int, project_keys: Sequence[int] | None = None
    ) -> list[int]:
        with self.database.snapshot() as connection:
            project_filter, keys = _project_filter(connection, project_keys)
            sql = f"SELECT rowid FROM word WHERE word MATCH ? {project_filter} ORDER BY rowid DESC LIMIT ?"
            return [row[0] for row in connection.execute(sql, (any_of(words), *keys, at_most))]

    def row_numbers_between(
        self, project_keys: Sequence[int], start: int, end: int, *, at_most: int, kinds: Sequence[str] = ()
    ) -> list[int]:
        where = "created_at >= ? AND created_at < ?"
        if kinds:
            where += f" AND kind IN ({','.join('?' * len(kinds))})"
        with self.database.snapshot() as connection:
            found = newest_positions(connection, project_keys, where, (start, end, *kinds), at_most)
        return [place for _, place in found]

    def observations_after(
        self, project_keys: Sequence[int], created_at: int, place: int, *, limit: int
    ) -> list[Observation]:
        sql = """SELECT created_at, place FROM observation WHERE project = ? AND (created_at, place) > (?, ?)
                 AND deleted_at IS NULL ORDER BY created_at, place LIMIT ?"""
        with self.database.snapshot() as connection:
            found = [row for key in project_keys for row in connection.execute(sql, (key, created_at, place, limit))]
            return self.at_row_numbers([place for _, place in sorted(found)[:limit]])

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
        where = f"""o.project = ? AND (o.created_at, o.place) < (?, ?)
                    AND o.deleted_at IS {"NOT NULL" if deleted else "NULL"}
                    {f"AND o.kind IN ({placeholders(kinds)})" if kinds else ""}
                    ORDER BY o.created_at DESC, o.place DESC LIMIT ?"""
        with self.database.snapshot() as connection:
            found = [
                row
                for key in project_keys
                for row in select(connection, where, (key, created_at, place, *kinds, limit))
            ]
        return sorted(found, key=lambda row: (row.created_at, row.place), reverse=True)[:limit]

    def counts_by_kind(self, project_keys: Sequence[int]) -> dict[str, tuple[int, int]]:
        sql = f"""SELECT kind, count(*) - count(deleted_at), count(deleted_at) FROM observation
                  WHERE project IN ({placeholders(project_keys)}) GROUP BY kind ORDER BY 2 DESC, kind"""
        with self.database.snapshot() as connection:
            rows = connection.execute(sql, tuple(project_keys)).fetchall()
        return {kind: (live, deleted) for kind, live, deleted in rows}

    def session_observations(self, session_id: str, *, limit: int) -> list[Observation]:
        with self.database.snapshot() as connection:
            keys = connection.execute("SELECT key FROM session WHERE session_id = ?", (session_id,)).fetchall()
            found = [row for (key,) in keys for row in self.latest_in_session(key, limit=limit)]
        return sorted(found, key=lambda row: (row.created_at, row.place))[-limit:]

    def latest_in_session(self, session: int, *, limit: int) -> list[Observation]:
        where = "o.place BETWEEN ? AND ? AND o.deleted_at IS NULL ORDER BY o.place DESC LIMIT ?"
        with self.database.snapshot() as connection:
            return select(connection, where, (*session_range(session), limit))

    def folder_of_session(self, project_id: str, session_id: str) -> str | None:
        sql = """SELECT p.folder FROM session s JOIN project p ON p.key = s.project
                 WHERE p.project_id = ? AND s.session_id = ? ORDER BY s.key DESC LIMIT 1"""
        with self.database.snapshot() as connection:
            row = connection.execute(sql, (project_id, session_id)).fetchone()
        return None if row is None else str(row[0])

    def recent_observations(
        self, project_keys: Sequence[int], *, limit: int, kinds: Sequence[str] = ()
    ) -> list[Observation]:
        with self.database.snapshot() as connection:
            if kinds:
                holds = "kind = ? AND superseded_by IS NULL"
                each = (newest_positions(connection, project_keys, holds, (kind,), limit) for kind in kinds)
                found = sorted((row for rows in each for row in rows), reverse=True)[:limit]
            else:
                found = newest_positions(connection, project_keys, "superseded_by IS NULL", (), limit)
            return self.at_row_numbers([place for _, place in found])

    def pinned_observations(self, project_keys: Sequence[int], *, limit: int) -> list[Observation]:
        where = f"""o.project IN ({placeholders(project_keys)}) AND o.pinned_at IS NOT NULL AND o.deleted_at IS NULL
                    AND o.superseded_by IS NULL ORDER BY o.pinned_at DESC, o.place DESC LIMIT ?"""
        with self.database.snapshot() as connection:
            return select(connection, where, (*project_keys, limit))

    def anchors(self, places: Sequence[int]) -> dict[int, list[Anchor]]:
        anchors: dict[int, list[Anchor]] = {}
        with self.database.snapshot() as connection:
            for some in _batches(places):
                sql = f"""SELECT place, path, symbol, digest FROM anchor
                          WHERE place IN ({placeholders(some)}) ORDER BY place, path, symbol"""
                for place, path, symbol, digest in connection.execute(sql, some):
                    anchors.setdefault(place, []).append(Anchor(path, symbol, digest))
        return anchors

    def all(self) -> Iterator[Observation]:
        place = -1
        while True:
            with self.database.snapshot() as connection:
                rows = select(connection, "o.place > ? ORDER BY o.place LIMIT 500", (place,))
            if not rows:
                return
            yield from rows
            place = rows[-1].place

    def changed_after(self, number: int) -> Iterator[Observation]:
        place = -1
        changed = "SELECT place FROM observation_change WHERE number > ? AND place > ? ORDER BY place LIMIT 500"
        while True:
            with self.database.snapshot() as connection:
                rows = select(connection, f"o.place IN ({changed}) ORDER BY o.place", (number, place))
            if not rows:
                return
            yield from rows
            place = rows[-1].place

    def last_change_number(self) -> int:
        with self.database.snapshot() as connection:
            row = connection.execute("SELECT max(number) FROM observation_change").fetchone()
        return int(row[0] or 0)

    def change_number(self, place: int) -> int:
        with self.database.snapshot() as connection:
            row = connection.execute("SELECT number FROM observation_change WHERE place = ?", (place,)).fetchone()
        return 0 if row is None else int(row[0])

    def last_exported_change(self, target: bytes) -> int:
        with self.database.snapshot() as connection:
            row = connection.execute("SELECT number FROM exported WHERE target = ?", (target,)).fetchone()
        return 0 if row is None else int(row[0])

    def distilled_keys(self, keys: Sequence[bytes]) -> set[bytes]:
        with self.database.snapshot() as connection:
            sql = f"SELECT key FROM mined_event WHERE key IN ({placeholders(keys)})"
            return {row[0] for row in connection.execute(sql, tuple(keys))}

    def counts(self) -> MemoryCounts:
        with self.database.snapshot() as connection:
            live, deleted, characters = connection.execute(
                """SELECT count(*) - count(deleted_at), count(deleted_at), coalesce(sum(length(text)), 0)
                   FROM observation"""
            ).fetchone()
            sessions = connection.execute("SELECT count(*) FROM session WHERE session_id IS NOT NULL").fetchone()[0]
            projects = connection.execute("SELECT count(*) FROM project").fetchone()[0]
        return MemoryCounts(live, deleted, sessions, projects, characters)


def _project_filter(connection: sqlite3.Connection, project_keys: Sequence[int] | None) -> tuple[str, tuple[int, ...]]:
    """Return an SQL condition that limits row numbers to the given projects, and the bound values.

    The condition is empty if all projects are selected.
    """
    if (
        project_keys is None
        or len(set(project_keys)) == connection.execute("SELECT count(*) FROM project").fetchone()[0]
    ):
        return "", ()
    sessions = f"SELECT key FROM session WHERE project IN ({placeholders(project_keys)})"
    return f"AND (rowid >> {POSITION_BITS}) IN ({sessions})", tuple(project_keys)


def _batches(places: Sequence[int], size: int = 500) -> Iterator[Sequence[int]]:
    for start in range(0, len(places), size):
        yield places[start : start + size]
