"""Which excerpts one conversation has shown in full, so that later answers can name them instead of repeating them.

A client may have dropped what it was shown: so an excerpt counts as shown for a while only, and not for a question that
is asked again.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MOST_KEPT = 20_000
# After either of these a client may have compacted its context, and what was shown before is shown again.
SHOWN_FOR_SECONDS = 600.0
SHOWN_FOR_ANSWERS = 20


class _When(NamedTuple):
    seconds: float
    answers: int


class Excerpts:
    """Remembers excerpts by id and text: one that has changed since is new again. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._shown: dict[int, _When] = {}
        self._questions: dict[str, None] = {}
        self._answers = 0
        self._lock = threading.Lock()

    def answering(self, question: str) -> ShownBefore:
        """What counts as shown before while this question is answered: nothing if it was asked before."""
        key = " ".join(question.lower().split())
        with self._lock:
            is_repeated = key in self._questions
            self._questions[key] = None
            self._answers += 1
            _forget_oldest(self._questions)
        return ShownBefore(self, is_repeated=is_repeated)

    def has(self, excerpt_id: str, text: str) -> bool:
        """Whether this text was shown in full under this id, a short while ago."""
        when = self._shown.get(hash((excerpt_id, text)))
        if when is None:
            return False
        is_recent = self._clock() - when.seconds < SHOWN_FOR_SECONDS
        return is_recent and self._answers - when.answers <= SHOWN_FOR_ANSWERS

    def note(self, excerpts: Iterable[tuple[str, str]]) -> None:
        """Remember (id, text) pairs as shown now; the oldest are forgotten when there are too many."""
        with self._lock:
            for excerpt_id, text in excerpts:
                key = hash((excerpt_id, text))
                self._shown.pop(key, None)
                self._shown[key] = _When(self._clock(), self._answers)
            _forget_oldest(self._shown)


@dataclass(frozen=True, slots=True)
class ShownBefore:
    """The excerpts of a conversation, as one answer sees them."""

    excerpts: Excerpts
    is_repeated: bool = False

    def has(self, excerpt_id: str, text: str) -> bool:
        """Whether this text may be named instead of shown."""
        return not self.is_repeated and self.excerpts.has(excerpt_id, text)

    def note(self, excerpts: Iterable[tuple[str, str]]) -> None:
        """Remember (id, text) pairs as shown."""
        self.excerpts.note(excerpts)


def nothing_shown() -> ShownBefore:
    """For an answer that repeats everything."""
    return ShownBefore(Excerpts())


def _forget_oldest(kept: dict[int, _When] | dict[str, None]) -> None:
    while len(kept) > _MOST_KEPT:
        del kept[next(iter(kept))]  # type: ignore[arg-type]
