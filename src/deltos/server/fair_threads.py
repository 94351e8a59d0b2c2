"""Thread pool that limits the number of threads that one caller may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.server.caller import Caller

_T = TypeVar("_T")
_MAX_CALLER_SHARE = 0.75  # maximum share of the threads that one caller may use


class FairThreadPool:
    """Thread pool for one event loop, with at most `max_threads` threads.

    A caller with a name may use 75 % of the threads. A caller without a name may use all of them.
    """

    def __init__(self, max_threads: int) -> None:
        self._max_threads = max_threads
        self._limiter = anyio.CapacityLimiter(max_threads)
        self._limiters: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()

    async def run(self, caller: Caller, work: Callable[[], _T]) -> _T:
        """Run `work` in a thread and return its result. After a cancellation, the thread no longer counts as busy."""
        async with self._limiter_for(caller):
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)

    def _limiter_for(self, caller: Caller) -> anyio.CapacityLimiter:
        limiter = self._limiters.get(caller.name)
        if limiter is None:
            limiter = anyio.CapacityLimiter(
                int(self._max_threads * _MAX_CALLER_SHARE) if caller.name else self._max_threads
            )
            self._limiters[caller.name] = limiter
        return limiter
