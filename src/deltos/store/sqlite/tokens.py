"""Access tokens in SQLite: the schema of `access.db`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.migration import Migration
from deltos.store.sqlite.database import SqliteDatabase
from deltos.store.sqlite.statements import SqliteStatements
from deltos.store.tokens import TokenRecords

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME = "access.db"
_SCHEMA = """
CREATE TABLE token (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    secret_hash BLOB NOT NULL,
    level TEXT NOT NULL,
    projects TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) WITHOUT ROWID;
"""


class SqliteTokens(TokenRecords):
    """Access tokens of a data folder, stored in `access.db`."""

    def __init__(self, home: Path) -> None:
        database = SqliteDatabase(home / FILE_NAME, (Migration("access_001", _SCHEMA),))
        super().__init__(SqliteStatements(database), "token")
