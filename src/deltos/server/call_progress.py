"""Forwards the progress of a tool to the client, and the cancellation of a call to the tool."""

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

MIN_INTERVAL_SECONDS = 0.1  # limits notifications to ten per second


class Step(NamedTuple):
    """Progress of a call: `done` of `total` items are finished. `what` names the items, such as files."""

    done: int
    total: int
    what: str


class SendProgress(Protocol):
    """Type of callables that send a progress notification to the client."""

    async def __call__(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Send one notification."""


class CallProgress:
    """Progress of one call: a worker thread reports steps, and the event loop forwards them to the client."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float] = time.monotonic) -> None:
        self._loop = loop
        self._clock = clock
        self._next_report_at = -math.inf
        self._closed = threading.Event()
        self._queue, self._steps = anyio.create_memory_object_stream[Step](math.inf)

    def report(self, done: int, total: int, what: str) -> None:
        """Queue a step for the client. Steps in quick succession are dropped, except the last one."""
        now = self._clock()
        if self.cancelled() or (now < self._next_report_at and done < total):
            return
        self._next_report_at = now + MIN_INTERVAL_SECONDS
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(self._enqueue, Step(done, total, what))

    def cancelled(self) -> bool:
        """Whether the client cancelled the call or disconnected."""
        return self._closed.is_set()

    async def forward(self, send: SendProgress) -> None:
        """Send queued steps until `close` is called. The reported progress never decreases."""
        earlier_stages = last = 0
        reported = -1
        async for step in self._steps:
            if step.done < last:
                earlier_stages += last
            last = step.done
            if earlier_stages + last > reported:
                reported = earlier_stages + last
                await send(reported, earlier_stages + step.total if step.total else None, step.what)

    def close(self) -> None:
        """Stop forwarding, and signal the running tool to stop."""
        self._closed.set()
        self._queue.close()

    def _enqueue(self, step: Step) -> None:
        if not self._closed.is_set():
            self._queue.send_nowait(step)
