"""Which excerpts one conversation has shown in full, so that later answers can name them instead of repeating them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_KEPT = 20_000


class Excerpts:
    """Remembers excerpts by id and text: one that has changed since is new again. Safe to use from several threads."""

    def __init__(self) -> None:
        self._shown: dict[int, None] = {}
        self._lock = threading.Lock()

    def has(self, excerpt_id: str, text: str) -> bool:
        """Whether this text was shown in full under this id."""
        return hash((excerpt_id, text)) in self._shown

    def note(self, excerpts: Iterable[tuple[str, str]]) -> None:
        """Remember (id, text) pairs as shown; the oldest are forgotten when there are too many."""
        with self._lock:
            self._shown.update((hash((excerpt_id, text)), None) for excerpt_id, text in excerpts)
            while len(self._shown) > _MOST_KEPT:
                self._shown.pop(next(iter(self._shown)))
