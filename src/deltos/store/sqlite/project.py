"""Project files in SQLite: tables of indexed files, skipped files and facts about the index."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from deltos.errors import StoreCorrupt
from deltos.store.migration import Migration
from deltos.store.project import FailedFile, ProjectStore, read_failures
from deltos.store.sqlite.database import BUSY_TIMEOUT_SECONDS, SqliteDatabase, connect_read_only, savepoint
from deltos.store.sqlite.lock import try_lock
from deltos.store.sqlite.rows import SqliteRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ProjectFileSummary:
    """Metadata, size, number of files and failures, read from a project file without opening the project."""

    facts: dict[str, str]
    size_bytes: int
    files: int
    failures: list[FailedFile]


class SqliteProject(ProjectStore):
    """Store of one project in one file, on the same machine as the checkout."""

    def __init__(
        self,
        path: Path,
        migrations: Sequence[Migration],
        *,
        busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS,
    ) -> None:
        self.database = SqliteDatabase(path, migrations, busy_timeout_seconds=busy_timeout_seconds)
        super().__init__(SqliteRows(self.database), path.name)

    @property
    def damaged_file(self) -> str:  # type: ignore[override]
        aside = self.database.damaged_file
        return aside.name if aside else ""

    @contextmanager
    def _transaction(self) -> Iterator[SqliteTransaction]:
        with self.database.write() as connection:
            yield SqliteTransaction(self.database, connection)

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

    def contents(self, paths: Sequence[str]) -> dict[str, bytes]:  # noqa: ARG002
        return {}

    def release(self) -> None:
        self.database.release()

    def close(self) -> None:
        self.database.close()


class SqliteTransaction:
    """Implementation of `store.project_writer.Transaction`."""

    def __init__(self, database: SqliteDatabase, connection: sqlite3.Connection) -> None:
        self._database = database
        self._connection = connection

    def commit_step(self) -> None:
        self._database.commit_step(self._connection)

    def savepoint(self) -> AbstractContextManager[None]:
        return savepoint(self._connection)

    def add_contents(self, contents: Mapping[bytes, bytes]) -> None:
        """Do nothing, because contents are not kept."""

    def release_contents(self, digests: Iterable[bytes]) -> None:
        """Do nothing, because contents are not kept."""


def read_summary(path: Path) -> ProjectFileSummary | None:
    """Return the facts of a project file, or None if it cannot be read."""
    try:
        with closing(connect_read_only(path)) as connection:
            facts = dict(connection.execute("SELECT key, value FROM meta").fetchall())
            count = connection.execute("SELECT COUNT(*) FROM file").fetchone()[0]
            has_failures = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'failure'").fetchone()
            failures = read_failures(lambda sql: connection.execute(sql).fetchall()) if has_failures else []
            return ProjectFileSummary(facts, path.stat().st_size, count, failures)
    except (sqlite3.Error, OSError):
        return None
