"""Access tokens in SQLite: schema and queries of `access.db`. Only hashes of secrets are stored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from deltos.store.migration import Migration
from deltos.store.sqlite.database import SqliteDatabase
from deltos.store.tokens import StoredToken, with_renamed_workspace

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

FILE_NAME = "access.db"
_COLUMNS = "id, name, secret_hash, level, projects, created_at, expires_at, revoked_at"
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


class SqliteTokens:
    """Implements `store.tokens.TokenRecords`."""

    def __init__(self, home: Path) -> None:
        self._database = SqliteDatabase(home / FILE_NAME, (Migration("access_001", _SCHEMA),))

    def add(self, token: StoredToken) -> None:
        row = (
            token.id, token.name, token.secret_hash, token.level, json.dumps(token.projects),
            token.created_at, token.expires_at, token.revoked_at,
        )  # fmt: skip
        with self._database.write() as connection:
            connection.execute(f"INSERT INTO token ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def get(self, token_id: str) -> StoredToken | None:
        with self._database.snapshot() as connection:
            row = connection.execute(f"SELECT {_COLUMNS} FROM token WHERE id = ?", (token_id,)).fetchone()
        return _token(row) if row else None

    def all(self) -> list[StoredToken]:
        with self._database.snapshot() as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM token ORDER BY created_at, id").fetchall()
        return [_token(row) for row in rows]

    def revoke(self, token_id: str, moment: int) -> bool:
        sql = "UPDATE token SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
        with self._database.write() as connection:
            return bool(connection.execute(sql, (moment, token_id)).rowcount)

    def rename_workspace(self, name: str, new_name: str) -> int:
        """Rename a workspace in all tokens; return the number of changed tokens."""
        with self._database.write() as connection:
            rows = connection.execute("SELECT id, projects FROM token").fetchall()
            renamed = [
                (json.dumps(after), token_id)
                for token_id, projects in rows
                if (after := with_renamed_workspace(before := json.loads(projects), name, new_name)) != tuple(before)
            ]
            connection.executemany("UPDATE token SET projects = ? WHERE id = ?", renamed)
        return len(renamed)

    def close(self) -> None:
        self._database.close()


def _token(row: sqlite3.Row) -> StoredToken:
    token_id, name, secret_hash, level, projects, *times = row
    return StoredToken(token_id, name, secret_hash, level, tuple(json.loads(projects)), *times)
