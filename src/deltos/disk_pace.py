"""How often something that was read is compared with the disk: before every answer where that is cheap."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# A comparison that is not free takes at most a twentieth of the time,
_SHARE = 20
# and is never postponed for longer than this.
_MAX_PAUSE_SECONDS = 1.0


class DiskPace:
    """Tells when the next comparison is due, by what the last one cost.

    One that took no more CPU than `free_seconds` happens before every answer.
    """

    __slots__ = ("_free_seconds", "_next")

    def __init__(self, free_seconds: float) -> None:
        self._free_seconds = free_seconds
        self._next = float("-inf")

    def is_due(self) -> bool:
        """Whether the last comparison is long enough ago, given what it cost."""
        return time.monotonic() >= self._next

    @contextmanager
    def comparing(self) -> Iterator[None]:
        """While it lasts, something is compared; what that costs postpones the next comparison."""
        started = time.thread_time()
        yield
        cost = time.thread_time() - started
        self.pause(0.0 if cost <= self._free_seconds else min(_MAX_PAUSE_SECONDS, cost * _SHARE))

    def pause(self, seconds: float) -> None:
        """Postpone the next comparison."""
        self._next = time.monotonic() + seconds
