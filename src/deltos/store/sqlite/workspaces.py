"""Workspaces in SQLite: schema and queries of `workspaces.db`."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING

from deltos.store.migration import Migration
from deltos.store.sqlite.database import SqliteDatabase
from deltos.store.sqlite.tokens import FILE_NAME as TOKENS_FILE_NAME
from deltos.store.sqlite.tokens import SqliteTokens
from deltos.store.workspaces import StoredWorkspace, check_rename

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FILE_NAME = "workspaces.db"
_SCHEMA = """
CREATE TABLE member (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace TEXT NOT NULL COLLATE NOCASE,
    root TEXT NOT NULL,
    UNIQUE (workspace, root)
);
"""


class SqliteWorkspaces:
    """Implements `store.workspaces.WorkspaceRecords`. The file is created with the first workspace."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / FILE_NAME
        self._opened: SqliteDatabase | None = None
        self._opening = threading.Lock()

    def all(self) -> list[StoredWorkspace]:
        return self._read("ORDER BY workspace, number", ())

    def get(self, name: str) -> StoredWorkspace | None:
        return next(iter(self._read("WHERE workspace = ? ORDER BY number", (name,))), None)

    def add(self, name: str, roots: Sequence[str]) -> list[str]:
        with self._database.write() as connection:
            known = connection.execute("SELECT workspace FROM member WHERE workspace = ? LIMIT 1", (name,)).fetchone()
            sql = "INSERT OR IGNORE INTO member (workspace, root) VALUES (?, ?)"
            return [root for root in roots if connection.execute(sql, (known[0] if known else name, root)).rowcount]

    def remove(self, name: str, roots: Sequence[str]) -> list[str]:
        with self._database.write() as connection:
            sql = "DELETE FROM member WHERE workspace = ? AND root = ?"
            return [root for root in roots if connection.execute(sql, (name, root)).rowcount]

    def rename(self, name: str, new_name: str) -> int:
        with self._database.write() as connection:
            check_rename(self.get(name), self.get(new_name), name, new_name)
            connection.execute("UPDATE member SET workspace = ? WHERE workspace = ?", (new_name, name))
            if not (self._home / TOKENS_FILE_NAME).exists():
                return 0
            # Tokens are committed first: a crash between the commits leaves tokens with fewer rights, until a retry.
            with closing(SqliteTokens(self._home)) as tokens:
                return tokens.rename_workspace(name, new_name)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    @property
    def _database(self) -> SqliteDatabase:
        with self._opening:
            if self._opened is None:
                self._opened = SqliteDatabase(self._path, (Migration("workspaces_001", _SCHEMA),))
            return self._opened

    def _read(self, condition: str, values: tuple[str, ...]) -> list[StoredWorkspace]:
        if not self._path.exists():
            return []
        with self._database.snapshot() as connection:
            rows = connection.execute(f"SELECT workspace, root FROM member {condition}", values).fetchall()
        roots: dict[str, list[str]] = {}
        for name, root in rows:
            roots.setdefault(name, []).append(root)
        return [StoredWorkspace(name, tuple(inside)) for name, inside in roots.items()]
