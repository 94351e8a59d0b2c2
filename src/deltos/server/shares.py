"""Threads for the work of callers: so many at once, and never all of them for one caller where there are others."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.server.caller import Caller

_T = TypeVar("_T")
_SHARE = 0.75  # share of the threads that one caller may have; the rest is kept for callers with none


class Shares:
    """Runs work in threads, at most `most` at once; belongs to one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._limiter = anyio.CapacityLimiter(most)
        self._of_caller: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()

    async def run(self, caller: Caller, work: Callable[[], _T]) -> _T:
        """What `work` returns; when the caller gives up it is abandoned, and its thread counts as free."""
        async with self._share_of(caller):
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)

    def _share_of(self, caller: Caller) -> anyio.CapacityLimiter:
        share = self._of_caller.get(caller.name)
        if share is None:
            share = anyio.CapacityLimiter(int(self._most * _SHARE) if caller.name else self._most)
            self._of_caller[caller.name] = share
        return share
