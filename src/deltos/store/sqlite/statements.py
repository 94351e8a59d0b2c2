"""SQLite implementation of the statements that both engines execute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from deltos.store.sqlite.database import SqliteDatabase
    from deltos.store.statements import WriteConnection


class SqliteStatements:
    """Implementation of `store.statements.Statements` on an SQLite file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.database = database

    def query(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        with self.database.errors:
            return self.database.read().execute(sql, tuple(values)).fetchall()

    def write(self) -> AbstractContextManager[WriteConnection]:
        return self.database.write()

    def snapshot(self) -> AbstractContextManager[object]:
        return self.database.snapshot()

    def close(self) -> None:
        self.database.close()
