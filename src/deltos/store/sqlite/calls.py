"""Log of recent tool calls in SQLite: schema and queries of `calls.db`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.calls import MAX_CALLS, CallRecord
from deltos.store.migration import Migration
from deltos.store.sqlite.database import SqliteDatabase

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME = "calls.db"
# This timeout is short, because later calls wait in the queue of the logging thread.
_BUSY_TIMEOUT_SECONDS = 0.5
_COLUMNS = "at, tool, client, arguments, seconds, tokens, original_tokens, is_error"
_SCHEMA = """
CREATE TABLE call (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    tool TEXT NOT NULL,
    client TEXT NOT NULL,
    arguments TEXT NOT NULL,
    seconds REAL NOT NULL,
    tokens INTEGER NOT NULL,
    original_tokens INTEGER NOT NULL,
    is_error INTEGER NOT NULL
);
"""


class SqliteCalls:
    """Implementation of `store.calls.CallRecords` in the file `calls.db`."""

    def __init__(self, home: Path) -> None:
        self._database = SqliteDatabase(
            home / FILE_NAME, (Migration("calls_001", _SCHEMA),), busy_timeout_seconds=_BUSY_TIMEOUT_SECONDS
        )

    def add(self, record: CallRecord) -> None:
        row = (
            record.at, record.tool, record.client, record.arguments, record.seconds,
            record.tokens, record.original_tokens, record.is_error,
        )  # fmt: skip
        with self._database.write() as connection:
            number = connection.execute(f"INSERT INTO call ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row).lastrowid
            connection.execute("DELETE FROM call WHERE number <= ?", ((number or 0) - MAX_CALLS,))

    def newest(self, limit: int) -> list[CallRecord]:
        with self._database.snapshot() as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM call ORDER BY number DESC LIMIT ?", (limit,)).fetchall()
        return [
            CallRecord(at, tool, client, arguments, seconds, tokens, original_tokens, bool(is_error))
            for at, tool, client, arguments, seconds, tokens, original_tokens, is_error in rows
        ]

    def forget_arguments(self) -> bool:
        with self._database.write() as connection:
            connection.execute("UPDATE call SET arguments = ''")
        return self._database.scrub()

    def close(self) -> None:
        self._database.close()
