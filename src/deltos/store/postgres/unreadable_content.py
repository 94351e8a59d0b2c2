"""Contents that could not be parsed within the limits, in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.migration import Migration

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.store.postgres.database import PostgresDatabase

STOPPED_001 = Migration(
    "stopped-001",
    """
    CREATE TABLE stopped_reading (
        digest bytea PRIMARY KEY,
        reason text NOT NULL,
        at double precision NOT NULL
    );
    CREATE INDEX stopped_reading_by_time ON stopped_reading (at);
    """,
)
_MAX_ROWS = 10_000


class PostgresUnreadableContent:
    """Implements `store.unreadable_content.UnreadableContent`."""

    def __init__(self, database: PostgresDatabase, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    def reason(self, digest: bytes) -> str:
        rows = self._database.query("SELECT reason FROM stopped_reading WHERE digest = %s", (digest,))
        return str(rows[0][0]) if rows else ""

    def remember(self, digest: bytes, reason: str) -> None:
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO stopped_reading VALUES (%s, %s, %s)"
                " ON CONFLICT (digest) DO UPDATE SET reason = excluded.reason, at = excluded.at",
                (digest, reason, self._now()),
            )
            connection.execute(
                "DELETE FROM stopped_reading WHERE at <"
                " (SELECT at FROM stopped_reading ORDER BY at DESC OFFSET %s LIMIT 1)",
                (_MAX_ROWS - 1,),
            )
