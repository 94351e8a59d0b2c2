"""Rate limits of hosts: the crawl delay of robots.txt, and exponential backoff while a host is overloaded."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MIN_BACKOFF_SECONDS = 1.0  # pause after the first response that says that the host is overloaded
_MAX_BACKOFF_SECONDS = 120.0


@dataclass(slots=True)
class HostRateLimiter:
    """Thread-safe record of the time of the next allowed request to each host."""

    clock: Callable[[], float]
    _next_allowed: dict[str, float] = field(default_factory=dict)
    _overloads: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take_turn(self, host: str, delay_seconds: float) -> float:
        """Return the seconds to wait before a request to `host`.

        If 0 is returned, the caller may send the request, and the request after it must wait `delay_seconds`.
        """
        with self._lock:
            now = self.clock()
            pause = max(0.0, self._next_allowed.get(host, 0.0) - now)
            if not pause:
                self._next_allowed[host] = now + delay_seconds
            return pause

    def record_success(self, host: str) -> None:
        """Record a successful response from `host`, which ends the backoff."""
        with self._lock:
            self._overloads.pop(host, None)

    def record_overload(self, host: str, retry_after_seconds: float) -> float:
        """Record that `host` is overloaded. Return the seconds to wait, which grow exponentially by default."""
        with self._lock:
            count = self._overloads[host] = self._overloads.get(host, 0) + 1
        seconds = retry_after_seconds or _MIN_BACKOFF_SECONDS * 2 ** (count - 1)
        seconds = min(seconds, _MAX_BACKOFF_SECONDS)
        with self._lock:
            self._next_allowed[host] = max(self._next_allowed.get(host, 0.0), self.clock() + seconds)
        return seconds
