"""Sessions in a database, so that any server can continue a session that another one opened.

A server reads the session at every request, and so notices its end and its changed state. Independent of the protocol:
a client's handshake is an opaque byte string.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread

from deltos.store.http_sessions import StoredSession

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.store.http_sessions import SessionRecords, SessionUse

_T = TypeVar("_T")
_MAX_CONCURRENT_QUERIES = 8
_MAX_STATE_CHARACTERS = 65_536


class SharedSessions:
    """Asynchronous access to the stored sessions of all servers."""

    def __init__(self, records: SessionRecords) -> None:
        self._records = records
        self._limiter = anyio.CapacityLimiter(_MAX_CONCURRENT_QUERIES)

    async def find(self, session_id: str) -> StoredSession | None:
        """Return the session with an id, of any caller."""
        return await self._run(partial(self._records.find, session_id))

    async def uses(self) -> Sequence[SessionUse]:
        """Return the caller and idle time of all open sessions."""
        return await self._run(self._records.uses)

    async def add(self, session_id: str, caller: str, opening: bytes) -> None:
        """Store a new session."""
        await self._run(partial(self._records.add, session_id, StoredSession(caller, opening)))

    async def set_state(self, session_id: str, state: str) -> None:
        """Store the conversation state of a session; an oversized state is dropped."""
        if len(state) <= _MAX_STATE_CHARACTERS:
            await self._run(partial(self._records.set_state, session_id, state))

    async def end(self, session_id: str) -> None:
        """Delete a session."""
        await self._run(partial(self._records.end, session_id))

    async def end_by_key(self, key: bytes) -> None:
        """Delete a session by its key in the result of `uses`."""
        await self._run(partial(self._records.end_by_key, key))

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)
