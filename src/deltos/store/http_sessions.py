"""What is kept of the sessions of clients over HTTP, where several servers share them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class KeptSession:
    """A session: whose it is, how its client introduced itself, and what was chosen in it since."""

    caller: str
    opening: bytes
    state: str = ""


@dataclass(frozen=True, slots=True)
class SessionUse:
    """A session among all, by what it can be ended by, and how many seconds ago it was used."""

    key: bytes
    caller: str
    idle_seconds: float


class SessionRecords(Protocol):
    """The sessions of all servers of a database. Times are the database's: clocks of servers may differ."""

    def find(self, session_id: str) -> KeptSession | None:
        """An open session, used now; None when there is none of this id, or it was unused for too long."""

    def uses(self) -> Sequence[SessionUse]:
        """All open sessions."""

    def add(self, session_id: str, session: KeptSession) -> None:
        """Keep a new session."""

    def set_state(self, session_id: str, state: str) -> None:
        """Keep what was chosen in a session."""

    def end(self, session_id: str) -> None:
        """Forget a session."""

    def end_by_key(self, key: bytes) -> None:
        """Forget a session that `uses` told of."""
