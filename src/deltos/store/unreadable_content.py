"""Record which contents could not be parsed within the limits, so that only changed contents are parsed again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.store.statements import Statements

_MAX_ROWS = 10_000


class UnreadableContent:
    """Failure reasons by content digest, stored in the library. Only the newest reasons are kept."""

    def __init__(self, statements: Statements, now: Callable[[], float]) -> None:
        self._statements = statements
        self._now = now

    def reason(self, digest: bytes) -> str:
        """Return why content with this digest could not be parsed, or an empty string if no failure was recorded."""
        rows = self._statements.query("SELECT reason FROM stopped_reading WHERE digest = ?", (digest,))
        return str(rows[0][0]) if rows else ""

    def record(self, digest: bytes, reason: str) -> None:
        """Record that content with this digest could not be parsed."""
        with self._statements.write() as connection:
            connection.execute(
                "INSERT INTO stopped_reading VALUES (?, ?, ?)"
                " ON CONFLICT (digest) DO UPDATE SET reason = excluded.reason, at = excluded.at",
                (digest, reason, self._now()),
            )
            connection.execute(
                "DELETE FROM stopped_reading WHERE at <"
                " (SELECT at FROM stopped_reading ORDER BY at DESC LIMIT 1 OFFSET ?)",
                (_MAX_ROWS - 1,),
            )
