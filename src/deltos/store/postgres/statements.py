"""PostgreSQL implementation of the statements that both engines execute."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.postgres.database import Connection, PostgresDatabase
    from deltos.store.statements import Cursor


class PostgresStatements:
    """Implementation of `store.statements.Statements`. The connection pool stays open for other stores."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.database = database

    def query(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        return self.database.query(_with_percent_placeholders(sql), values)

    @contextmanager
    def write(self) -> Iterator[PostgresWriteConnection]:
        with self.database.write() as connection:
            yield PostgresWriteConnection(connection)

    def snapshot(self) -> AbstractContextManager[object]:
        return self.database.snapshot()

    def close(self) -> None:
        pass


class PostgresWriteConnection:
    """Implementation of `store.statements.WriteConnection`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def execute(self, sql: str, values: Sequence[object] = (), /) -> Cursor:
        return self.connection.execute(_with_percent_placeholders(sql).encode(), values)

    def executemany(self, sql: str, rows: Sequence[Sequence[object]], /) -> None:
        with self.connection.cursor() as cursor:
            cursor.executemany(_with_percent_placeholders(sql).encode(), rows)


def _with_percent_placeholders(sql: str) -> str:
    return sql.replace("?", "%s")
