"""Type of values that identify a state of a store and are used as cache keys."""

from __future__ import annotations

from collections.abc import Hashable

# Two versions read by the same thread are equal only if nothing was written between the two reads. If the version is
# None, nothing may be cached. Versions read by different threads cannot be compared.
Version = Hashable | None
