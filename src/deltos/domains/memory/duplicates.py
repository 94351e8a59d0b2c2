"""When two observations are one: nearly the same words, and nothing said in one that the other would lose."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from deltos.text.stop_words import PROSE_STOP_WORDS
from deltos.text.words import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltos.store.observations import Observation

_MIN_JACCARD = 0.8
# Some stop words reverse a statement: without them "do not use X" would equal "use X".
_UNTELLING = PROSE_STOP_WORDS - {"not", "no", "only", "before", "after", "off", "on", "don"}
_COMPARED_CHARACTERS = 4_000
_CHANGE = "change"


def find_duplicate(
    text: str, kind: str, recent: Iterable[Observation]
) -> tuple[Observation, Literal["older", "newer"]] | None:
    """The recent observation that says the same, and which of the two texts says all of it. Of changes every letter
    counts: what corrects `Cache` to `cache` is not what was there before."""
    new = _Outline(text)
    for observation in recent:
        if kind == _CHANGE and observation.text.strip() != text.strip():
            continue
        if observation.kind == kind and (fuller := new.compare(_Outline(observation.text))):
            return observation, fuller
    return None


class _Outline:
    """The words of a text without stop words, and their bigrams."""

    def __init__(self, text: str) -> None:
        telling = [word for word in tokens(text[:_COMPARED_CHARACTERS]) if word not in _UNTELLING]
        self.words = frozenset(telling)
        self.pairs = frozenset(pairwise(telling))
        self.whole = text.strip()

    def compare(self, older: _Outline) -> Literal["older", "newer"] | None:
        """Which of the two holds all the words of both, when they are alike; None when they are not one."""
        if self.whole == older.whole:
            return "older"
        if len(self.whole) > _COMPARED_CHARACTERS or len(older.whole) > _COMPARED_CHARACTERS or not self.words:
            return None
        if _jaccard(self.words, older.words) < _MIN_JACCARD or _jaccard(self.pairs, older.pairs) < _MIN_JACCARD:
            return None
        if self.words <= older.words:
            return "older"
        return "newer" if self.words > older.words else None


def _jaccard(one: frozenset[object], other: frozenset[object]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 1.0
