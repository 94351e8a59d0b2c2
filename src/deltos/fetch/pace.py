"""Rate limiting per host: the delay that robots.txt asks for, and exponential back-off while the host is overloaded."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_FIRST_BACKOFF_SECONDS = 1.0
_LONGEST_BACKOFF_SECONDS = 120.0


@dataclass(slots=True)
class Pace:
    """When each host may be asked next. Safe to use from several threads."""

    clock: Callable[[], float]
    _next: dict[str, float] = field(default_factory=dict)
    _complaints: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take_turn(self, host: str, delay_seconds: float) -> float:
        """How long to wait before `host` may be asked; 0 takes the turn, and the next one waits for the delay."""
        with self._lock:
            now = self.clock()
            pause = max(0.0, self._next.get(host, 0.0) - now)
            if not pause:
                self._next[host] = now + delay_seconds
            return pause

    def answered(self, host: str) -> None:
        """`host` answered well: earlier complaints are forgotten."""
        with self._lock:
            self._complaints.pop(host, None)

    def complained(self, host: str, retry_after_seconds: float) -> float:
        """`host` is overloaded: wait as long as it says, or twice as long each time; returns the seconds."""
        with self._lock:
            count = self._complaints[host] = self._complaints.get(host, 0) + 1
        seconds = retry_after_seconds or _FIRST_BACKOFF_SECONDS * 2 ** (count - 1)
        seconds = min(seconds, _LONGEST_BACKOFF_SECONDS)
        with self._lock:
            self._next[host] = max(self._next.get(host, 0.0), self.clock() + seconds)
        return seconds
