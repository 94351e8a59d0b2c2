"""Rate limit per caller, implemented as a token bucket."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

BURST_SECONDS = 4.0  # pause after which a caller may send a burst of the maximum size again
_MAX_BUCKETS = 10_000  # maximum number of stored buckets, which limits memory use by requests from many addresses


class RateLimit:
    """Limit of `per_second` requests per caller on average, with bursts of four seconds. 0 means no limit."""

    def __init__(self, per_second: float, clock: Callable[[], float]) -> None:
        self._per_second = per_second
        self._burst = max(1.0, per_second * BURST_SECONDS)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_seconds(self, caller: str) -> int:
        """Count a request and return 0, or return the number of seconds until the caller may send a request."""
        if self._per_second <= 0:
            return 0
        now = self._clock()
        left, then = self._buckets.pop(caller, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._per_second)
        allowed = left >= 1
        self._buckets[caller] = (left - 1 if allowed else left, now)
        if len(self._buckets) > _MAX_BUCKETS:
            self._buckets.popitem(last=False)  # drop the least recently used bucket, which is full again by now
        return 0 if allowed else math.ceil((1 - left) / self._per_second)
