"""Carries the progress of a tool from its worker thread to the client, and the client's cancellation back."""

from __future__ import annotations

import math
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

import anyio

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

MIN_INTERVAL_SECONDS = 0.1  # a client is told of at most ten steps a second


class Step(NamedTuple):
    """`done` of `total` units of `what`."""

    done: int
    total: int
    what: str


class Listener(Protocol):
    """Whoever sends a progress notification."""

    async def __call__(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client."""


class CallProgress:
    """The `Progress` of one call: reported to by a worker thread, forwarded by the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float] = time.monotonic) -> None:
        self._loop = loop
        self._clock = clock
        self._quiet_until = -math.inf
        self._over = threading.Event()
        self._queue, self._steps = anyio.create_memory_object_stream[Step](math.inf)

    def report(self, done: int, total: int, what: str) -> None:
        """Tell the client of a step, unless it heard of one just now; the last step is always told."""
        now = self._clock()
        if self.cancelled() or (now < self._quiet_until and done < total):
            return
        self._quiet_until = now + MIN_INTERVAL_SECONDS
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(self._enqueue, Step(done, total, what))

    def cancelled(self) -> bool:
        """Whether the client no longer waits."""
        return self._over.is_set()

    async def forward(self, tell: Listener) -> None:
        """Tell every step until `close`. Numbers only ever grow, also from one stage of work to the next."""
        earlier_stages = last = 0
        told = -1
        async for step in self._steps:
            if step.done < last:
                earlier_stages += last
            last = step.done
            if earlier_stages + last > told:
                told = earlier_stages + last
                await tell(told, earlier_stages + step.total if step.total else None, step.what)

    def close(self) -> None:
        """Nobody waits any more: work that still runs should stop."""
        self._over.set()
        self._queue.close()

    def _enqueue(self, step: Step) -> None:
        if not self._over.is_set():
            self._queue.send_nowait(step)
