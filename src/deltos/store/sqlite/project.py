"""The tables that every project file has: its files, what was skipped and why, and facts about the index itself."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

from deltos.store.project import FailedFile, FileRecord, Glance, ProjectTotals, SeenStamp, SkippedFile, StoredFile
from deltos.store.sqlite.database import Database, Migration, connect_read_only

if TYPE_CHECKING:
    from collections.abc import Iterable
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
_FAILURES = """SELECT path, indexer, failure.reason FROM failure JOIN file ON file.id = file_id
               UNION ALL SELECT path, '', failure FROM skipped WHERE failure <> ''
               UNION ALL SELECT 'all files', substr(key, 12), value FROM meta
               WHERE key >= 'unfinished/' AND key < 'unfinished0'
               ORDER BY path, indexer"""
# What an indexer makes of files that it has read: the second half of its name where that failed.
UNRESOLVED = "/edges"


class ProjectStore:
    """Files, skipped files and facts about one project's index."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def meta(self, key: str) -> str:
        """A recorded fact; empty when it was never recorded."""
        with self.database.snapshot() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else ""

    def set_meta(self, connection: sqlite3.Connection, facts: dict[str, str]) -> None:
        """Record facts by key."""
        connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())

    def files(self) -> dict[str, StoredFile]:
        """All indexed files by path."""
        with self.database.snapshot() as connection:
            rows = connection.execute("SELECT id, path, hash, size, mtime_ns, seen_at_ns FROM file").fetchall()
        return {row[1]: StoredFile(row[0], row[1], row[2], SeenStamp(*row[3:])) for row in rows}

    def file(self, path: str) -> StoredFile | None:
        """One indexed file."""
        sql = "SELECT id, path, hash, size, mtime_ns, seen_at_ns FROM file WHERE path = ?"
        row = self.database.read().execute(sql, (path,)).fetchone()
        return StoredFile(row[0], row[1], row[2], SeenStamp(*row[3:])) if row else None

    def skipped(self) -> dict[str, SkippedFile]:
        """All skipped files by path."""
        with self.database.snapshot() as connection:
            rows = connection.execute(
                "SELECT path, reason, hash, failure, size, mtime_ns, seen_at_ns FROM skipped"
            ).fetchall()
        return {row[0]: SkippedFile(row[0], row[1], SeenStamp(*row[4:]), row[2], row[3]) for row in rows}

    def failures(self) -> list[FailedFile]:
        """What could not be read, by path and indexer."""
        with self.database.snapshot() as connection:
            return _failures(connection)

    def stamps(self) -> dict[str, SeenStamp]:
        """The stamps of all files, indexed or skipped, by path."""
        with self.database.snapshot() as connection:
            rows = connection.execute(
                """SELECT path, size, mtime_ns, seen_at_ns FROM file
                   UNION ALL SELECT path, size, mtime_ns, seen_at_ns FROM skipped"""
            ).fetchall()
        return {row[0]: SeenStamp(*row[1:]) for row in rows}

    def folders(self) -> dict[str, int]:
        """When each folder's list of entries last changed, as seen by the last walk; 0 if it cannot be trusted."""
        with self.database.snapshot() as connection:
            return dict(connection.execute("SELECT path, mtime_ns FROM folder").fetchall())

    def file_count(self) -> int:
        """How many files are indexed."""
        with self.database.snapshot() as connection:
            count: int = connection.execute("SELECT COUNT(*) FROM file").fetchone()[0]
        return count

    def totals(self) -> ProjectTotals:
        """How much is indexed, by language, and how much was skipped, by reason."""
        with self.database.snapshot() as connection:
            rows = connection.execute(
                "SELECT coalesce(nullif(language, ''), 'text'), COUNT(*), SUM(lines) FROM file GROUP BY 1"
            ).fetchall()
            skipped = connection.execute("SELECT reason, COUNT(*) FROM skipped GROUP BY reason").fetchall()
        languages = Counter({language: count for language, count, _ in rows})
        return ProjectTotals(
            files=sum(count for _, count, _ in rows),
            lines=sum(lines for _, _, lines in rows),
            languages=dict(languages.most_common()),
            skipped=dict(sorted(skipped)),
        )

    def add_file(self, connection: sqlite3.Connection, record: FileRecord) -> int:
        """Write a file's row; its id."""
        stamp = record.stamp
        cursor = connection.execute(
            """INSERT INTO file (path, language, lines, size, mtime_ns, seen_at_ns, hash)
               VALUES (?, ?, ?, ?, ?, ?, ?)""",
            (
                record.path,
                record.language,
                record.lines,
                stamp.size,
                stamp.mtime_ns,
                stamp.seen_at_ns,
                record.hash,
            ),
        )
        return cursor.lastrowid or 0  # never 0 after an insert; RETURNING is many times slower

    def remove_file(self, connection: sqlite3.Connection, file_id: int) -> None:
        """Delete a file's row, and what failed over it."""
        connection.execute("DELETE FROM failure WHERE file_id = ?", (file_id,))
        connection.execute("DELETE FROM file WHERE id = ?", (file_id,))

    def touch_file(self, connection: sqlite3.Connection, file_id: int, stamp: SeenStamp) -> None:
        """Record a new stamp for a file whose content is the same."""
        connection.execute(
            "UPDATE file SET size = ?, mtime_ns = ?, seen_at_ns = ? WHERE id = ?",
            (stamp.size, stamp.mtime_ns, stamp.seen_at_ns, file_id),
        )

    def set_unfinished(self, connection: sqlite3.Connection, indexer: str, reason: str) -> None:
        """Record why an indexer could not settle what spans files; with an empty reason, that it could."""
        key = f"unfinished/{indexer}{UNRESOLVED}"
        connection.execute("DELETE FROM meta WHERE key = ?", (key,))
        if reason:
            connection.execute("INSERT INTO meta VALUES (?, ?)", (key, reason))

    def set_skipped(self, connection: sqlite3.Connection, file: SkippedFile) -> None:
        """Record a file that is not indexed."""
        stamp = file.stamp
        connection.execute(
            """INSERT OR REPLACE INTO skipped (path, reason, size, mtime_ns, seen_at_ns, hash, failure)
               VALUES (?, ?, ?, ?, ?, ?, ?)""",
            (file.path, file.reason, stamp.size, stamp.mtime_ns, stamp.seen_at_ns, file.hash, file.failure),
        )

    def add_failures(self, connection: sqlite3.Connection, file_id: int, reasons: Iterable[tuple[str, str]]) -> None:
        """Record which indexers could not read a file, each with its reason."""
        rows = [(file_id, *reason) for reason in reasons]
        connection.executemany("INSERT OR REPLACE INTO failure VALUES (?, ?, ?)", rows)

    def forget_skipped(self, connection: sqlite3.Connection, paths: Iterable[str]) -> None:
        """Drop files from the list of skipped ones."""
        connection.executemany("DELETE FROM skipped WHERE path = ?", [(path,) for path in paths])

    def set_folders(self, connection: sqlite3.Connection, folders: dict[str, int]) -> None:
        """Replace the list of folders and their stamps."""
        connection.execute("DELETE FROM folder")
        connection.executemany("INSERT INTO folder VALUES (?, ?)", folders.items())


def record_unresolved(
    connection: sqlite3.Connection, indexer: str, tried: Iterable[str], unresolved: Iterable[tuple[str, str]]
) -> None:
    """Record which of the files that an indexer tried to resolve it could not, each with its reason."""
    name = indexer + UNRESOLVED
    file_id = "(SELECT id FROM file WHERE path = ?)"
    connection.executemany(
        f"DELETE FROM failure WHERE file_id = {file_id} AND indexer = ?", [(path, name) for path in tried]
    )
    connection.executemany(
        "INSERT INTO failure SELECT id, ?, ? FROM file WHERE path = ?",
        [(name, reason, path) for path, reason in unresolved],
    )


def glance(path: Path) -> Glance | None:
    """What a project file tells about itself; None when it is unreadable."""
    try:
        with closing(connect_read_only(path)) as connection:
            facts = dict(connection.execute("SELECT key, value FROM meta").fetchall())
            count = connection.execute("SELECT COUNT(*) FROM file").fetchone()[0]
            has_failures = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'failure'").fetchone()
            return Glance(facts, count, _failures(connection) if has_failures else [])
    except sqlite3.Error:
        return None


def _failures(connection: sqlite3.Connection) -> list[FailedFile]:
    return [FailedFile(*row) for row in connection.execute(_FAILURES)]
