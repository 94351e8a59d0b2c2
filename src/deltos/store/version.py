"""Type of the values that identify a state of a store, used as keys of caches."""

from __future__ import annotations

from collections.abc import Hashable

# Two versions of one thread are equal only if nothing was written between them. With None, nothing may be cached.
# Versions of different threads cannot be compared.
Version = Hashable | None
