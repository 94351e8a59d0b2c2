"""Throttle for comparisons of an index with the files on disk. Expensive comparisons do not run before every answer."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Pause after an expensive comparison, as a multiple of the comparison's CPU time.
_PAUSE_FACTOR = 20
_MAX_PAUSE_SECONDS = 1.0


class DiskThrottle:
    """Scheduler of comparisons between an index and the files on disk.

    The pause after a comparison is proportional to the CPU time of the comparison. Comparisons that take at most
    `free_seconds` are not delayed.
    """

    __slots__ = ("_free_seconds", "_next")

    def __init__(self, free_seconds: float) -> None:
        self._free_seconds = free_seconds
        self._next = float("-inf")

    def is_due(self) -> bool:
        """Whether the pause after the last comparison is over."""
        return time.monotonic() >= self._next

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Measure the comparison in the `with` block, and postpone the next comparison accordingly."""
        started = time.thread_time()
        yield
        cost = time.thread_time() - started
        self.postpone(0.0 if cost <= self._free_seconds else min(_MAX_PAUSE_SECONDS, cost * _PAUSE_FACTOR))

    def postpone(self, seconds: float) -> None:
        """Postpone the next comparison until `seconds` from now."""
        self._next = time.monotonic() + seconds
