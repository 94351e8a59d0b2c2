"""HTTP client sessions in PostgreSQL: table and queries. Session ids are stored as digests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.digest import sha256
from deltos.store.http_sessions import SessionUse, StoredSession
from deltos.store.migration import Migration
from deltos.store.postgres.rights import SERVER, protected

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.store.postgres.database import PostgresDatabase

HTTP_SESSIONS_001 = Migration(
    "http-sessions-001",
    """
    CREATE TABLE http_session (
        key bytea PRIMARY KEY,
        caller text NOT NULL,
        opening bytea NOT NULL,
        state text NOT NULL DEFAULT '',
        opened_at timestamptz NOT NULL DEFAULT now(),
        used_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX http_session_by_use ON http_session (used_at);
    """
    + protected("http_session", SERVER),
)
# The time of last use is written at most once in this interval, not with every request.
_USE_NOTE_SECONDS = 10


class PostgresHttpSessions:
    """Implements `store.http_sessions.SessionRecords`."""

    def __init__(self, open_database: Callable[[], PostgresDatabase], idle_seconds: float) -> None:
        self._open_database = open_database
        self._idle_seconds = idle_seconds

    @property
    def _database(self) -> PostgresDatabase:
        return self._open_database()

    def find(self, session_id: str) -> StoredSession | None:
        rows = self._database.query(
            """SELECT caller, opening, state, used_at < now() - make_interval(secs => %s) FROM http_session
               WHERE key = %s AND used_at > now() - make_interval(secs => %s)""",
            (_USE_NOTE_SECONDS, _key(session_id), self._idle_seconds),
        )
        if not rows:
            return None
        caller, opening, state, is_due = rows[0]
        if is_due:
            self._write_unsynced("UPDATE http_session SET used_at = now() WHERE key = %s", _key(session_id))
        return StoredSession(caller, opening, state)

    def uses(self) -> list[SessionUse]:
        self._write_unsynced(
            "DELETE FROM http_session WHERE used_at <= now() - make_interval(secs => %s)", self._idle_seconds
        )
        rows = self._database.query(
            "SELECT key, caller, extract(epoch FROM now() - used_at)::double precision FROM http_session"
        )
        return [SessionUse(*row) for row in rows]

    def add(self, session_id: str, session: StoredSession) -> None:
        self._write(
            "INSERT INTO http_session (key, caller, opening, state) VALUES (%s, %s, %s, %s)",
            _key(session_id),
            session.caller,
            session.opening,
            session.state,
        )

    def set_state(self, session_id: str, state: str) -> None:
        self._write("UPDATE http_session SET state = %s WHERE key = %s", state, _key(session_id))

    def end(self, session_id: str) -> None:
        self.end_by_key(_key(session_id))

    def end_by_key(self, key: bytes) -> None:
        self._write("DELETE FROM http_session WHERE key = %s", key)

    def _write(self, sql: str, *values: object) -> None:
        with self._database.write() as connection:
            connection.execute(sql.encode(), values)

    def _write_unsynced(self, sql: str, *values: object) -> None:
        """Write without waiting for the disk; the change may be lost if the server crashes."""
        with self._database.write() as connection:
            connection.execute("SET LOCAL synchronous_commit TO off")
            connection.execute(sql.encode(), values)


def _key(session_id: str) -> bytes:
    return sha256(session_id.encode("utf-8", "surrogateescape")).digest()
