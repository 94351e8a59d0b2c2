"""In-memory cache of a project's rows, valid for one version (state) of the project.

The database returns the version within a snapshot, and only to a caller that row-level security allows to see the
project. A caller without a version receives no rows from the cache. Rows are cached only within such a snapshot, so
that all of them belong to the version.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

MAX_BYTES = 96 * 2**20  # maximum estimated size of all cached rows of a process
_ROW_BYTES = 200  # estimated size of a row without texts
_NOT_CACHED = object()  # distinguishes a missing cache entry from a cached absence of a row

_Key = TypeVar("_Key", bound="Hashable")
_Row = TypeVar("_Row")


class CacheBudget:
    """Memory limit for the cached rows of all projects together. Thread-safe."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._guard = threading.Lock()
        self._states: OrderedDict[CachedState, int] = OrderedDict()
        self._bytes = 0

    @property
    def used_bytes(self) -> int:
        """Estimated size of all cached rows."""
        return self._bytes

    def add(self, state: CachedState, count: int) -> None:
        """Count `count` more bytes for the cached rows `state`, which are now the most recently used. If the budget is
        exceeded, drop the least recently used rows."""
        with self._guard:
            self._bytes += count
            self._states[state] = self._states.pop(state, 0) + count
            while self._bytes > self._max_bytes:
                oldest, freed = self._states.popitem(last=False)
                self._bytes -= freed
                oldest.clear()

    def forget(self, state: CachedState) -> None:
        """Drop the cached rows `state`."""
        with self._guard:
            self._bytes -= self._states.pop(state, 0)
            state.clear()


class CachedState:
    """Cached rows of one version of a project, by kind and key. The absence of a row is cached too."""

    def __init__(self, version: int, budget: CacheBudget) -> None:
        self.version = version
        self._budget = budget
        self._rows: dict[str, dict[Any, Any]] = {}

    def rows(
        self,
        kind: str,
        keys: Iterable[_Key],
        read: Callable[[list[_Key]], Mapping[_Key, _Row]],
        text_bytes: Callable[[_Row], int],
    ) -> dict[_Key, _Row]:
        """Return the rows with the given keys. `read` is called with the keys that are not cached."""
        known = cast("dict[_Key, _Row | None]", self._rows.setdefault(kind, {}))
        found: dict[_Key, _Row] = {}
        missing = []
        for key in keys:
            row = known.get(key, _NOT_CACHED)
            if row is _NOT_CACHED:
                missing.append(key)
            elif row is not None:
                found[key] = cast("_Row", row)
        if missing:
            new = read(missing)
            found.update(new)
            known.update({key: new.get(key) for key in missing})
            self._budget.add(self, sum(map(text_bytes, new.values())) + _ROW_BYTES * len(missing))
        return found

    def has_row(self, kind: str, key: Hashable) -> bool:
        """Whether a row, or the absence of the row, is cached."""
        return key in self._rows.get(kind, ())

    def cached_rows(self, kind: str, keys: Iterable[Any]) -> dict[Any, Any]:
        """Return the cached rows with the given keys."""
        rows = self._rows.get(kind, {})
        return {key: rows[key] for key in keys if key in rows}

    def put(self, kind: str, rows: Mapping[_Key, _Row], text_bytes: Callable[[_Row], int]) -> None:
        """Add rows to the cache. Rows that are already cached are not counted again."""
        known = self._rows.setdefault(kind, {})
        new = {key: row for key, row in rows.items() if known.get(key, _NOT_CACHED) != row}
        known.update(new)
        self._budget.add(self, sum(map(text_bytes, new.values())) + _ROW_BYTES * len(new))

    def clear(self) -> None:
        """Drop all rows."""
        self._rows = {}


class ProjectRowCache:
    """Cached rows of the newest version of a project."""

    def __init__(self, budget: CacheBudget) -> None:
        self._budget = budget
        self._guard = threading.Lock()
        self._state: CachedState | None = None

    def state_at(self, version: int) -> CachedState | None:
        """Return the cached rows of a version of the project, or None if the version is outdated."""
        with self._guard:
            state = self._state
            if state is None or state.version < version:
                if state is not None:
                    self._budget.forget(state)
                state = self._state = CachedState(version, self._budget)
            return state if state.version == version else None

    def forget(self) -> None:
        """Drop the cached rows."""
        with self._guard:
            state, self._state = self._state, None
            if state is not None:
                self._budget.forget(state)


SHARED_BUDGET = CacheBudget()
