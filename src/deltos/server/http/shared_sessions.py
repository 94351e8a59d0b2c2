"""Sessions that all servers of a database share: any of them goes on with a session that another one opened.

A server asks the database with every request, so that a session that ended anywhere has ended here, and what was chosen
in it elsewhere holds. Knows no protocol: what a session's client said at its handshake are bytes here.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread

from deltos.store.http_sessions import KeptSession

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.store.http_sessions import SessionRecords, SessionUse

_T = TypeVar("_T")
_QUERIES_AT_ONCE = 8
_MOST_STATE_CHARACTERS = 65_536


class SharedSessions:
    """The sessions of all servers, for a loop that must not wait for a database."""

    def __init__(self, records: SessionRecords) -> None:
        self._records = records
        self._limiter = anyio.CapacityLimiter(_QUERIES_AT_ONCE)

    async def find(self, session_id: str) -> KeptSession | None:
        """The session of an id, whoever's it is."""
        return await self._run(partial(self._records.find, session_id))

    async def uses(self) -> Sequence[SessionUse]:
        """All open sessions."""
        return await self._run(self._records.uses)

    async def add(self, session_id: str, caller: str, opening: bytes) -> None:
        """Keep a new session."""
        await self._run(partial(self._records.add, session_id, KeptSession(caller, opening)))

    async def set_state(self, session_id: str, state: str) -> None:
        """Keep what was chosen in a session; more than anybody chooses is not kept."""
        if len(state) <= _MOST_STATE_CHARACTERS:
            await self._run(partial(self._records.set_state, session_id, state))

    async def end(self, session_id: str) -> None:
        """Forget a session."""
        await self._run(partial(self._records.end, session_id))

    async def end_by_key(self, key: bytes) -> None:
        """Forget a session that `uses` told of."""
        await self._run(partial(self._records.end_by_key, key))

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)
