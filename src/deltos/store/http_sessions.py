"""Protocol and rows of HTTP client sessions that several servers share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session: its caller, the client's initialize request (`opening`), and the state chosen since."""

    caller: str
    opening: bytes
    state: str = ""


@dataclass(frozen=True, slots=True)
class SessionUse:
    """An open session with the key to end it and the seconds since its last use."""

    key: bytes
    caller: str
    idle_seconds: float


class SessionRecords(Protocol):
    """The sessions of all servers of a database. Times are the database's, because server clocks may differ."""

    def find(self, session_id: str) -> StoredSession | None:
        """Return an open session and mark it as used; None if there is none with this id or it has expired."""

    def uses(self) -> Sequence[SessionUse]:
        """Return all open sessions."""

    def add(self, session_id: str, session: StoredSession) -> None:
        """Store a new session."""

    def set_state(self, session_id: str, state: str) -> None:
        """Store the state of a session."""

    def end(self, session_id: str) -> None:
        """Delete a session by its id."""

    def end_by_key(self, key: bytes) -> None:
        """Delete a session by the key that `uses` returned."""
