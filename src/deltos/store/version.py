"""Type of values that identify a state of a store and are used as cache keys."""

from __future__ import annotations

from collections.abc import Hashable

# If the same thread reads the version twice and gets equal values, nothing was written in between. If the version is
# None, nothing may be cached. Versions read by different threads cannot be compared.
Version = Hashable | None
