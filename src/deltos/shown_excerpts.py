"""Record of the excerpts that a session has seen in full. Later answers cite them instead of repeating them.

Clients may drop earlier answers from their context, so excerpts expire, and a repeated query returns them in full.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MAX_RECORDED_ITEMS = 20_000  # maximum number of recorded excerpts, questions and notes
# Time and number of answers after which an excerpt expires, because the client may have compacted its context.
SHOWN_FOR_SECONDS = 600.0
SHOWN_FOR_ANSWERS = 20


class _ShownAt(NamedTuple):
    """Time and answer number at which an excerpt was shown."""

    seconds: float
    answers: int


class ShownExcerpts:
    """Thread-safe record of shown excerpts by id and text. A changed excerpt counts as new."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._shown: dict[int, _ShownAt] = {}
        self._questions: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self._answers = 0
        self._lock = threading.Lock()

    def answering(self, question: str) -> ShownBefore:
        """Start an answer and return the excerpts that the session has already seen.

        For a repeated question, the result contains no excerpts, so that the answer includes them again.
        """
        key = " ".join(question.lower().split())
        with self._lock:
            is_repeated = key in self._questions
            self._questions[key] = None
            self._answers += 1
            _forget_oldest(self._questions)
        return ShownBefore(self, is_repeated=is_repeated)

    def is_new_note(self, note: str) -> bool:
        """Record a note about an index. Return whether the session sees it for the first time."""
        with self._lock:
            is_new = note not in self._notes
            self._notes[note] = None
            _forget_oldest(self._notes)
        return is_new

    def has(self, excerpt_id: str, text: str) -> bool:
        """Whether the excerpt was shown with this text and has not expired."""
        when = self._shown.get(hash((excerpt_id, text)))
        if when is None:
            return False
        is_recent = self._clock() - when.seconds < SHOWN_FOR_SECONDS
        return is_recent and self._answers - when.answers <= SHOWN_FOR_ANSWERS

    def note(self, excerpts: Iterable[tuple[str, str]]) -> None:
        """Record (id, text) pairs as shown. The oldest are dropped if there are too many."""
        with self._lock:
            for excerpt_id, text in excerpts:
                key = hash((excerpt_id, text))
                self._shown.pop(key, None)
                self._shown[key] = _ShownAt(self._clock(), self._answers)
            _forget_oldest(self._shown)


@dataclass(frozen=True, slots=True)
class ShownBefore:
    """The shown excerpts of a session, as seen by one answer."""

    excerpts: ShownExcerpts
    is_repeated: bool = False

    def has(self, excerpt_id: str, text: str) -> bool:
        """Whether an excerpt may be cited instead of printed."""
        return not self.is_repeated and self.excerpts.has(excerpt_id, text)

    def note(self, excerpts: Iterable[tuple[str, str]]) -> None:
        """Record (id, text) pairs as shown."""
        self.excerpts.note(excerpts)


def nothing_shown() -> ShownBefore:
    """Return an empty record, for answers that print every excerpt."""
    return ShownBefore(ShownExcerpts())


def _forget_oldest(kept: dict[int, _ShownAt] | dict[str, None]) -> None:
    while len(kept) > _MAX_RECORDED_ITEMS:
        del kept[next(iter(kept))]  # type: ignore[arg-type]
