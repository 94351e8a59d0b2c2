"""In-memory cache of query results, each valid for one version (state) of a project.

The cache is used only within a snapshot, so that all rows belong to the same version. The database returns the version
only to callers that may see the project under row-level security. Other callers receive no rows from the cache.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

MAX_BYTES = 96 * 2**20  # maximum estimated size of all cached rows of a process
_ENTRY_BYTES = 1_000  # estimated size of an empty result with its key
_ROW_BYTES = 200  # estimated size of a row without texts


class RowCache:
    """Least-recently-used cache with a limit on the estimated size. Thread-safe."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._results: OrderedDict[Hashable, tuple[int, list[Any]]] = OrderedDict()
        self.used_bytes = 0

    def get(self, key: Hashable) -> list[Any] | None:
        """Return the cached rows, or None. The caller must not change the list."""
        with self._lock:
            found = self._results.get(key)
            if found is None:
                return None
            self._results.move_to_end(key)
            return found[1]

    def put(self, key: Hashable, rows: list[Any]) -> None:
        """Add rows. The least recently used rows are dropped if the limit is exceeded."""
        size = _ENTRY_BYTES + sum(map(_estimate_bytes, rows))
        if size > self._max_bytes:
            return
        with self._lock:
            self.used_bytes += size - self._results.pop(key, (0, []))[0]
            self._results[key] = size, rows
            while self.used_bytes > self._max_bytes:
                self.used_bytes -= self._results.popitem(last=False)[1][0]


def _estimate_bytes(row: Sequence[object]) -> int:
    cells = row if isinstance(row, tuple) else ()
    return _ROW_BYTES + sum(len(cell) for cell in cells if isinstance(cell, (str, bytes)))


SHARED_CACHE = RowCache()
