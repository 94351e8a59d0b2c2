"""Detect duplicate observations: these have nearly the same words and can be merged without loss."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from deltos.text.stop_words import PROSE_STOP_WORDS
from deltos.text.words import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltos.store.observations import Observation

_MIN_JACCARD = 0.8
# Stop words that change the meaning of a statement are compared, so that "do not use X" differs from "use X".
_IGNORED_WORDS = PROSE_STOP_WORDS - {"not", "no", "only", "before", "after", "off", "on", "don"}
_MAX_COMPARED_CHARACTERS = 4_000
_CHANGE_KIND = "change"


def find_duplicate(
    text: str, kind: str, recent: Iterable[Observation]
) -> tuple[Observation, Literal["older", "newer"]] | None:
    """Return the first recent observation that duplicates `text`, and which text to keep; None without a duplicate.

    Changes are duplicates only if their texts are identical, because an edit from `Cache` to `cache` must not be merged
    with the opposite edit.
    """
    new = _ComparedText(text)
    for observation in recent:
        if kind == _CHANGE_KIND and observation.text.strip() != text.strip():
            continue
        if observation.kind == kind and (fuller := new.compare(_ComparedText(observation.text))):
            return observation, fuller
    return None


class _ComparedText:
    """A text prepared for comparison: its words and pairs of adjacent words, without stop words."""

    def __init__(self, text: str) -> None:
        content_words = [word for word in tokens(text[:_MAX_COMPARED_CHARACTERS]) if word not in _IGNORED_WORDS]
        self.words = frozenset(content_words)
        self.pairs = frozenset(pairwise(content_words))
        self.whole = text.strip()

    def compare(self, older: _ComparedText) -> Literal["older", "newer"] | None:
        """Return which of two duplicates contains all words of both, or None if the texts are not duplicates."""
        if self.whole == older.whole:
            return "older"
        if len(self.whole) > _MAX_COMPARED_CHARACTERS or len(older.whole) > _MAX_COMPARED_CHARACTERS or not self.words:
            return None
        if _jaccard(self.words, older.words) < _MIN_JACCARD or _jaccard(self.pairs, older.pairs) < _MIN_JACCARD:
            return None
        if self.words <= older.words:
            return "older"
        return "newer" if self.words > older.words else None


def _jaccard(one: frozenset[object], other: frozenset[object]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 1.0
