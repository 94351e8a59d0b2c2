"""Project files in SQLite: tables of indexed files, skipped files and facts about the index."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from deltos.errors import StoreCorrupt
from deltos.store.migration import Migration
from deltos.store.project import (
    FailedFile,
    FileRecord,
    IndexFacts,
    ProjectTotals,
    SeenStamp,
    SkippedFile,
    StoredFile,
)
from deltos.store.sqlite.code import SqliteCode, SqliteCodeWriter
from deltos.store.sqlite.database import BUSY_TIMEOUT_SECONDS, SqliteDatabase, connect_read_only, savepoint
from deltos.store.sqlite.graph import SqliteGraphWriter
from deltos.store.sqlite.graph_read import SqliteGraph
from deltos.store.sqlite.history import SqliteHistory, SqliteHistoryWriter
from deltos.store.sqlite.lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path


PROJECT_001 = Migration(
    "project-001-files",
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE file (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        language TEXT NOT NULL,
        lines INTEGER NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        seen_at_ns INTEGER NOT NULL,
        hash BLOB NOT NULL
    );
    CREATE TABLE skipped (
        path TEXT PRIMARY KEY,
        reason TEXT NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        seen_at_ns INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE folder (path TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL) WITHOUT ROWID;
    """,
)

PROJECT_002 = Migration(
    "project-002-failures",
    """
    ALTER TABLE skipped ADD COLUMN hash BLOB NOT NULL DEFAULT x'';
    ALTER TABLE skipped ADD COLUMN failure TEXT NOT NULL DEFAULT '';
    CREATE INDEX skipped_failure ON skipped (path) WHERE failure <> '';
    CREATE TABLE failure (
        file_id INTEGER NOT NULL,
        indexer TEXT NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (file_id, indexer)
    ) WITHOUT ROWID;
    """,
)
PROJECT_003 = Migration(
    "project-003-generated",
    """
    ALTER TABLE file ADD COLUMN generated INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX file_generated ON file (path) WHERE generated;
    """,
)
_SELECT_FAILURES = """SELECT path, indexer, failure.reason FROM failure JOIN file ON file.id = file_id
               UNION ALL SELECT path, '', failure FROM skipped WHERE failure <> ''
               UNION ALL SELECT 'all files', substr(key, 12), value FROM meta
               WHERE key >= 'unfinished/' AND key < 'unfinished0'
               ORDER BY path, indexer"""
_LARGE_VALUE_KEYS = ("listing",)  # metadata keys whose values grow with the project

# Suffix of an indexer's name in records of failures to resolve references.
UNRESOLVED = "/edges"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ProjectFileSummary:
    """Metadata, size, number of files and failures, read from a project file without opening the project."""

    facts: dict[str, str]
    size_bytes: int
    files: int
    failures: list[FailedFile]


class SqliteProject:
    """Implementation of `store.project.ProjectStore` with one file per project."""

    def __init__(
        self,
        path: Path,
        migrations: Sequence[Migration],
        *,
        busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS,
    ) -> None:
        self.database = SqliteDatabase(path, migrations, busy_timeout_seconds=busy_timeout_seconds)
        self.name = path.name
        self.code = SqliteCode(self.database)
        self.graph = SqliteGraph(self.database)
        self.history = SqliteHistory(self.database)

    @property
    def damaged_file(self) -> str:
        aside = self.database.damaged_file
        return aside.name if aside else ""

    @contextmanager
    def writing(self) -> Iterator[SqliteProjectWriter]:
        with self.database.write() as connection:
            yield SqliteProjectWriter(self.database, connection)

    def run_with_repair(self, work: Callable[[], _T]) -> _T:
        self.database.reopen_if_replaced()  # `deltos forget-project` or `deltos doctor --fix` may have moved the file
        file = self.database.inode
        try:
            return work()
        except StoreCorrupt:
            self.database.replace_damaged_file(file)
            return work()

    def try_lock(self, part: str = "") -> AbstractContextManager[bool]:
        return try_lock(self.database.path.with_suffix(f".{part}.lock" if part else ".lock"))

    def release(self) -> None:
        self.database.release()

    def close(self) -> None:
        self.database.close()

    def facts(self) -> IndexFacts:
        return self.database.cached("facts", _read_facts)

    def meta(self, key: str) -> str:
        if key not in _LARGE_VALUE_KEYS:
            return self.database.cached("recorded", _read_recorded).get(key, "")
        with self.database.errors:
            rows = self.database.read().execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchall()
        return rows[0][0] if rows else ""

    def files(self) -> dict[str, StoredFile]:
        with self.database.snapshot() as connection:
            rows = connection.execute("SELECT id, path, hash, size, mtime_ns, seen_at_ns FROM file").fetchall()
        return {row[1]: StoredFile(row[0], row[1], row[2], SeenStamp(*row[3:])) for row in rows}

    def file(self, path: str) -> StoredFile | None:
        sql = "SELECT id, path, hash, size, mtime_ns, seen_at_ns FROM file WHERE path = ?"
        row = self.database.read().execute(sql, (path,)).fetchone()
        return StoredFile(row[0], row[1], row[2], SeenStamp(*row[3:])) if row else None

    def skipped_files(self) -> dict[str, SkippedFile]:
        with self.database.snapshot() as connection:
            rows = connection.execute(
                "SELECT path, reason, hash, failure, size, mtime_ns, seen_at_ns FROM skipped"
            ).fetchall()
        return {row[0]: SkippedFile(row[0], row[1], SeenStamp(*row[4:]), row[2], row[3]) for row in rows}

    def failures(self) -> list[FailedFile]:
        with self.database.snapshot() as connection:
            return _read_failures(connection)

    def stamps(self) -> dict[str, SeenStamp]:
        with self.database.snapshot() as connection:
            rows = connection.execute(
                """SELECT path, size, mtime_ns, seen_at_ns FROM file
                   UNION ALL SELECT path, size, mtime_ns, seen_at_ns FROM skipped"""
            ).fetchall()
        return {row[0]: SeenStamp(*row[1:]) for row in rows}

    def folder_times(self) -> dict[str, int]:
        with self.database.snapshot() as connection:
            return dict(connection.execute("SELECT path, mtime_ns FROM folder").fetchall())

    keeps_contents = False  # the index file is on the same machine as the checkout

    def contents(self, paths: Sequence[str]) -> dict[str, bytes]:  # noqa: ARG002
        return {}

    def file_count(self) -> int:
        with self.database.snapshot() as connection:
            count: int = connection.execute("SELECT COUNT(*) FROM file WHERE NOT generated").fetchone()[0]
        return count

    def generated_paths(self) -> frozenset[str]:
        with self.database.errors:
            rows = self.database.read().execute("SELECT path FROM file WHERE generated").fetchall()
        return frozenset(row[0] for row in rows)

    def totals(self) -> ProjectTotals:
        with self.database.snapshot() as connection:
            rows = connection.execute(
                """SELECT coalesce(nullif(language, ''), 'text'), COUNT(*), SUM(lines) FROM file
                   WHERE NOT generated GROUP BY 1"""
            ).fetchall()
            skipped = connection.execute(
                """SELECT reason, COUNT(*) FROM (SELECT reason FROM skipped
                   UNION ALL SELECT 'generated' FROM file WHERE generated) GROUP BY reason"""
            ).fetchall()
        languages = Counter({language: count for language, count, _ in rows})
        return ProjectTotals(
            files=sum(count for _, count, _ in rows),
            lines=sum(lines for _, _, lines in rows),
            languages=dict(languages.most_common()),
            skipped=dict(sorted(skipped)),
        )


class SqliteProjectWriter:
    """Implementation of `store.project.ProjectWriter` in a transaction of a project file."""

    def __init__(self, database: SqliteDatabase, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._database = database
        self.code = SqliteCodeWriter(connection, database.errors)
        self.history = SqliteHistoryWriter(connection, database.errors)

    @property
    def graph(self) -> SqliteGraphWriter:
        return SqliteGraphWriter(self.connection, self._database.errors, self._database.path)

    def commit_step(self) -> None:
        self._database.commit_step(self.connection)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        with self._database.errors, savepoint(self.connection):
            yield

    def set_metadata(self, values: dict[str, str]) -> None:
        self.connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    def add_file(self, record: FileRecord) -> int:
        stamp = record.stamp
        cursor = self.connection.execute(
            """INSERT INTO file (path, language, lines, size, mtime_ns, seen_at_ns, hash, generated)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                record.path,
                record.language,
                record.lines,
                stamp.size,
                stamp.mtime_ns,
                stamp.seen_at_ns,
                record.hash,
                record.is_generated,
            ),
        )
        return cursor.lastrowid or 0  # not 0 after an insert; RETURNING would be many times slower

    def remove_file(self, file_id: int) -> None:
        self.connection.execute("DELETE FROM failure WHERE file_id = ?", (file_id,))
        self.connection.execute("DELETE FROM file WHERE id = ?", (file_id,))

    def touch_file(self, file_id: int, stamp: SeenStamp) -> None:
        self.connection.execute(
            "UPDATE file SET size = ?, mtime_ns = ?, seen_at_ns = ? WHERE id = ?",
            (stamp.size, stamp.mtime_ns, stamp.seen_at_ns, file_id),
        )

    def set_unfinished(self, indexer: str, reason: str) -> None:
        key = f"unfinished/{indexer}{UNRESOLVED}"
        self.connection.execute("DELETE FROM meta WHERE key = ?", (key,))
        if reason:
            self.connection.execute("INSERT INTO meta VALUES (?, ?)", (key, reason))

    def set_skipped(self, file: SkippedFile) -> None:
        stamp = file.stamp
        self.connection.execute(
            """INSERT OR REPLACE INTO skipped (path, reason, size, mtime_ns, seen_at_ns, hash, failure)
               VALUES (?, ?, ?, ?, ?, ?, ?)""",
            (file.path, file.reason, stamp.size, stamp.mtime_ns, stamp.seen_at_ns, file.hash, file.failure),
        )

    def add_failures(self, file_id: int, reasons: Iterable[tuple[str, str]]) -> None:
        rows = [(file_id, *reason) for reason in reasons]
        self.connection.executemany("INSERT OR REPLACE INTO failure VALUES (?, ?, ?)", rows)

    def forget_skipped(self, paths: Iterable[str]) -> None:
        self.connection.executemany("DELETE FROM skipped WHERE path = ?", [(path,) for path in paths])

    def set_folders(self, folders: dict[str, int]) -> None:
        self.connection.execute("DELETE FROM folder")
        self.connection.executemany("INSERT INTO folder VALUES (?, ?)", folders.items())

    def set_unresolved(self, indexer: str, tried: Iterable[str], unresolved: Iterable[tuple[str, str]]) -> None:
        name = indexer + UNRESOLVED
        file_id = "(SELECT id FROM file WHERE path = ?)"
        self.connection.executemany(
            f"DELETE FROM failure WHERE file_id = {file_id} AND indexer = ?", [(path, name) for path in tried]
        )
        self.connection.executemany(
            "INSERT INTO failure SELECT id, ?, ? FROM file WHERE path = ?",
            [(name, reason, path) for path, reason in unresolved],
        )


def read_summary(path: Path) -> ProjectFileSummary | None:
    """Return the facts of a project file, or None if it cannot be read."""
    try:
        with closing(connect_read_only(path)) as connection:
            facts = dict(connection.execute("SELECT key, value FROM meta").fetchall())
            count = connection.execute("SELECT COUNT(*) FROM file").fetchone()[0]
            has_failures = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'failure'").fetchone()
            return ProjectFileSummary(
                facts, path.stat().st_size, count, _read_failures(connection) if has_failures else []
            )
    except (sqlite3.Error, OSError):
        return None


def _read_facts(connection: sqlite3.Connection) -> IndexFacts:
    return IndexFacts.from_recorded(_read_recorded(connection), _read_failures(connection))


def _read_recorded(connection: sqlite3.Connection) -> dict[str, str]:
    sql = f"SELECT key, value FROM meta WHERE key NOT IN ({', '.join('?' * len(_LARGE_VALUE_KEYS))})"
    return dict(connection.execute(sql, _LARGE_VALUE_KEYS).fetchall())


def _read_failures(connection: sqlite3.Connection) -> list[FailedFile]:
    return [FailedFile(*row) for row in connection.execute(_SELECT_FAILURES)]
