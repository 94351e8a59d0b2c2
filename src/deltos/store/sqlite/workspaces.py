"""Workspaces in SQLite: the schema of `workspaces.db`."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING

from deltos.store.migration import Migration
from deltos.store.sqlite.database import SqliteDatabase
from deltos.store.sqlite.statements import SqliteStatements
from deltos.store.sqlite.tokens import FILE_NAME as TOKENS_FILE_NAME
from deltos.store.sqlite.tokens import SqliteTokens
from deltos.store.workspaces import WorkspaceRecords

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.store.statements import WriteConnection

FILE_NAME = "workspaces.db"
_SCHEMA = """
CREATE TABLE member (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace TEXT NOT NULL COLLATE NOCASE,
    root TEXT NOT NULL,
    UNIQUE (workspace, root)
);
"""


class SqliteWorkspaces(WorkspaceRecords):
    """Workspaces of a data folder. The file is created with the first workspace."""

    table = "member"

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / FILE_NAME
        self._opened: SqliteStatements | None = None
        self._hold_file_lock = threading.Lock()

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def _open(self, *, may_create: bool) -> SqliteStatements | None:
        with self._hold_file_lock:
            if self._opened is None and (may_create or self._path.exists()):
                database = SqliteDatabase(self._path, (Migration("workspaces_001", _SCHEMA),))
                self._opened = SqliteStatements(database)
            return self._opened

    def _lock(self, connection: WriteConnection) -> None:
        """Do nothing, because a write transaction locks the whole file."""

    def _rename_in_tokens(self, _connection: WriteConnection, name: str, new_name: str) -> int:
        if not (self._home / TOKENS_FILE_NAME).exists():
            return 0
        # The change of the tokens is committed first. After a crash between the two commits, tokens give fewer
        # permissions until the workspace is renamed again.
        with closing(SqliteTokens(self._home)) as tokens:
            return tokens.rename_workspace(name, new_name)
