"""Rows of projects in memory, each as it is in one state of its project: what one question read, the next one has.

A state is known by the project's version, which the database tells within a snapshot, and only to a caller whom
row-level security shows the project's rows: whoever is told none is handed nothing that was kept. Rows are kept within
such a snapshot alone, so that all of them are of the state that the version names.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

MOST_BYTES = 96 * 2**20  # of all projects of a process, by estimate; those that were asked longest ago go first
_ROW_BYTES = 200  # what an object costs beside its texts
_UNREAD = object()

_Key = TypeVar("_Key", bound="Hashable")
_Row = TypeVar("_Row")


class Budget:
    """How much is kept in memory of all states together. Any thread may ask."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._guard = threading.Lock()
        self._states: OrderedDict[KeptState, int] = OrderedDict()
        self._bytes = 0

    @property
    def used_bytes(self) -> int:
        """How much is kept now."""
        return self._bytes

    def add(self, state: KeptState, count: int) -> None:
        """A state has grown by so many bytes: it was asked last, and others may have to go for it, or all of it."""
        with self._guard:
            self._bytes += count
            self._states[state] = self._states.pop(state, 0) + count
            while self._bytes > self._most_bytes:
                oldest, freed = self._states.popitem(last=False)
                self._bytes -= freed
                oldest.clear()

    def forget(self, state: KeptState) -> None:
        """A state is over."""
        with self._guard:
            self._bytes -= self._states.pop(state, 0)
            state.clear()


class KeptState:
    """What was read of a project in one state: rows by kind and key; that there is none is known too."""

    def __init__(self, version: int, budget: Budget) -> None:
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
        """The rows of some keys; `read` is asked for those that are not known yet. Rows never change."""
        known = cast("dict[_Key, _Row | None]", self._rows.setdefault(kind, {}))
        found: dict[_Key, _Row] = {}
        missing = []
        for key in keys:
            row = known.get(key, _UNREAD)
            if row is _UNREAD:
                missing.append(key)
            elif row is not None:
                found[key] = cast("_Row", row)
        if missing:
            new = read(missing)
            found.update(new)
            known.update({key: new.get(key) for key in missing})
            self._budget.add(self, sum(map(text_bytes, new.values())) + _ROW_BYTES * len(missing))
        return found

    def has(self, kind: str, key: Hashable) -> bool:
        """Whether it is known what is stored of a key."""
        return key in self._rows.get(kind, ())

    def known(self, kind: str, keys: Iterable[Any]) -> dict[Any, Any]:
        """What is kept of some keys."""
        rows = self._rows.get(kind, {})
        return {key: rows[key] for key in keys if key in rows}

    def put(self, kind: str, rows: Mapping[_Key, _Row], text_bytes: Callable[[_Row], int]) -> None:
        """Keep rows that were read beside others; those that are known already cost nothing more."""
        known = self._rows.setdefault(kind, {})
        new = {key: row for key, row in rows.items() if known.get(key, _UNREAD) != row}
        known.update(new)
        self._budget.add(self, sum(map(text_bytes, new.values())) + _ROW_BYTES * len(new))

    def clear(self) -> None:
        """Let all rows go; whoever holds them still has them."""
        self._rows = {}


class KeptProject:
    """The newest state of a project that anybody has asked for."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._guard = threading.Lock()
        self._state: KeptState | None = None

    def at(self, version: int) -> KeptState | None:
        """What is kept of a version; None for one that is over: who still reads it reads it himself."""
        with self._guard:
            state = self._state
            if state is None or state.version < version:
                if state is not None:
                    self._budget.forget(state)
                state = self._state = KeptState(version, self._budget)
            return state if state.version == version else None

    def forget(self) -> None:
        """The project is closed, or another one now."""
        with self._guard:
            state, self._state = self._state, None
            if state is not None:
                self._budget.forget(state)


SHARED_BUDGET = Budget()
