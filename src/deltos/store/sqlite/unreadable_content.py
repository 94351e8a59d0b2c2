"""Contents that could not be parsed within the limits, in the library file of SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.migration import Migration

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.store.sqlite.database import SqliteDatabase

STOPPED_001 = Migration(
    "stopped-001",
    """
    CREATE TABLE stopped_reading (
        digest BLOB PRIMARY KEY,
        reason TEXT NOT NULL,
        at REAL NOT NULL
    ) WITHOUT ROWID;
    """,
)
_MAX_ROWS = 10_000


class SqliteUnreadableContent:
    """Implements `store.unreadable_content.UnreadableContent` in the library file."""

    def __init__(self, database: SqliteDatabase, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    def reason(self, digest: bytes) -> str:
        query = "SELECT reason FROM stopped_reading WHERE digest = ?"
        row = self._database.read().execute(query, (digest,)).fetchone()
        return str(row[0]) if row else ""

    def remember(self, digest: bytes, reason: str) -> None:
        with self._database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO stopped_reading VALUES (?, ?, ?)", (digest, reason, self._now()))
            connection.execute(
                "DELETE FROM stopped_reading WHERE digest NOT IN"
                " (SELECT digest FROM stopped_reading ORDER BY at DESC LIMIT ?)",
                (_MAX_ROWS,),
            )
