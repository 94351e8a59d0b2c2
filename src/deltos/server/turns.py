"""Lets calls compute one after the other. Threads that take the interpreter from each other need twice the CPU for the
same answers, and all of them come late."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_SECONDS = 0.25  # who takes longer waits for something, or computes for long: the next one goes beside it


class Turns:
    """A queue for calls: the next one goes when the one before it has ended, or has taken longer than calls take."""

    def __init__(self, most_seconds: float = _MOST_SECONDS) -> None:
        self._most_seconds = most_seconds
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()
        self._latest: object | None = None
        self._since = 0.0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a turn, and have it."""
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            try:
                while self._waiting[0] is not ticket or self._left() > 0:
                    self._changed.wait(self._left() if self._waiting[0] is ticket else None)
                self._latest, self._since = ticket, time.monotonic()
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()  # whoever is first now has to know how long to wait
        try:
            yield
        finally:
            with self._changed:
                if self._latest is ticket:
                    self._latest = None
                    self._changed.notify_all()

    def _left(self) -> float:
        """How many seconds the one whose turn it is still has to itself."""
        return self._since + self._most_seconds - time.monotonic() if self._latest is not None else 0.0
