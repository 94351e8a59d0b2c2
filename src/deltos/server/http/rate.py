"""How often each caller may call: a bucket that refills with time."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

BURST_SECONDS = 4.0
_CALLERS = 10_000  # whose buckets are kept: bounds the memory that addresses can cost


class RateLimit:
    """Allows `per_second` requests of each caller on average, and four seconds' worth at once. 0: no limit."""

    def __init__(self, per_second: float, clock: Callable[[], float]) -> None:
        self._per_second = per_second
        self._burst = max(1.0, per_second * BURST_SECONDS)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_seconds(self, caller: str) -> int:
        """0 and one request less when the caller may go on, else the whole seconds until it may."""
        if self._per_second <= 0:
            return 0
        now = self._clock()
        left, then = self._buckets.pop(caller, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._per_second)
        allowed = left >= 1
        self._buckets[caller] = (left - 1 if allowed else left, now)
        if len(self._buckets) > _CALLERS:
            self._buckets.popitem(last=False)  # the one that was heard of least recently is full again by now
        return 0 if allowed else math.ceil((1 - left) / self._per_second)
