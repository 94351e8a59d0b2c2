"""Log of recent tool calls in PostgreSQL: table and queries.

All servers that use a database share the log, so that the web UI of every server shows the same calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.calls import MAX_CALLS, CallRecord
from deltos.store.migration import Migration

if TYPE_CHECKING:
    from deltos.store.postgres.database import PostgresDatabase

_COLUMNS = "at, tool, client, arguments, seconds, tokens, original_tokens, is_error"
CALLS_001 = Migration(
    "calls-001",
    """
    CREATE TABLE tool_call (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        at double precision NOT NULL,
        tool text NOT NULL,
        client text NOT NULL,
        arguments text NOT NULL,
        seconds double precision NOT NULL,
        tokens bigint NOT NULL,
        original_tokens bigint NOT NULL,
        is_error boolean NOT NULL
    );
    """,
)
# The insert does not wait for the disk. A crash of the database server may therefore lose the last calls.
_ADD_CALL = f"""WITH added AS (
               INSERT INTO tool_call ({_COLUMNS})
               SELECT %s::float8, %s::text, %s::text, %s::text, %s::float8, %s::bigint, %s::bigint, %s::boolean
               WHERE set_config('synchronous_commit', 'off', true) = 'off' RETURNING number)
           DELETE FROM tool_call WHERE number <= (SELECT number FROM added) - %s RETURNING number"""


class PostgresCalls:
    """Implementation of `store.calls.CallRecords`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def add(self, record: CallRecord) -> None:
        row = (
            record.at, record.tool, record.client, record.arguments, record.seconds,
            record.tokens, record.original_tokens, record.is_error,
        )  # fmt: skip
        self._database.query(_ADD_CALL, (*row, MAX_CALLS))

    def newest(self, limit: int) -> list[CallRecord]:
        rows = self._database.query(f"SELECT {_COLUMNS} FROM tool_call ORDER BY number DESC LIMIT %s", (limit,))
        return [CallRecord(*row) for row in rows]

    def forget_arguments(self) -> bool:
        with self._database.write() as connection:
            connection.execute("UPDATE tool_call SET arguments = ''")
        return self._database.rewrite(("tool_call",))

    def close(self) -> None:
        pass
