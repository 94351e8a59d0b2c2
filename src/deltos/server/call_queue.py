"""Runs tool calls one at a time. Threads that compete for the GIL use twice the CPU time and delay every answer."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_EXCLUSIVE_SECONDS = 0.25  # after this time, the next call may start while the previous one still runs


class CallQueue:
    """First-in, first-out queue of calls.

    A call starts when the previous one has ended or has run for `max_exclusive_seconds`.
    """

    def __init__(self, max_exclusive_seconds: float = MAX_EXCLUSIVE_SECONDS) -> None:
        self._max_exclusive_seconds = max_exclusive_seconds
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()
        self._running_ticket: object | None = None
        self._running_since = 0.0

    @contextmanager
    def wait_for_turn(self) -> Iterator[None]:
        """Context manager that waits until the call may start and, on exit, lets the next call start."""
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            try:
                while self._waiting[0] is not ticket or self._remaining_seconds() > 0:
                    self._changed.wait(self._remaining_seconds() if self._waiting[0] is ticket else None)
                self._running_ticket, self._running_since = ticket, time.monotonic()
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()  # wake the call that is now first in the queue
        try:
            yield
        finally:
            with self._changed:
                if self._running_ticket is ticket:
                    self._running_ticket = None
                    self._changed.notify_all()

    def _remaining_seconds(self) -> float:
        """Return the number of seconds for which the running call still blocks the next call."""
        return (
            self._running_since + self._max_exclusive_seconds - time.monotonic()
            if self._running_ticket is not None
            else 0.0
        )
