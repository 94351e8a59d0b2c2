"""Words of other languages that mean what a word of a question means, so that a question finds what was said in
another language. Knows single words; the table is glossary.txt."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.text.scripts import UNSPACED, bigrams

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TABLE = Path(__file__).with_name("glossary.txt")
_ENDINGS = ("ing", "ed", "es", "en", "s", "e", "n")
_SHORTEST_STEM = 3


def translations(word: str) -> tuple[str, ...]:
    """The words of other languages for a word, as they are indexed; a word may be a bigram of an unspaced script."""
    table = _table()
    stems = (word[: -len(end)] for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= _SHORTEST_STEM)
    return next((table[form] for form in (word, *stems) if form in table), ())


@cache
def _table() -> Mapping[str, tuple[str, ...]]:
    """The words of the other languages by each word of the table."""
    rows = [
        [[word.strip().lower() for word in column.split(",")] for column in line.split("|")]
        for line in TABLE.read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    telling = _Telling(word for row in rows for column in row for word in column)
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        indexed = [[telling.indexed(word) for word in column] for column in row]
        for at, column in enumerate(indexed):
            others = [word for other, words in enumerate(indexed) if other != at for word in words]
            for word in column:
                found[word].update(dict.fromkeys(others))
    return {word: tuple(other for other in others if other != word) for word, others in found.items()}


class _Telling:
    """Which bigram of a longer word in an unspaced script stands for it: the one that fewest words share."""

    def __init__(self, words: Iterable[str]) -> None:
        self._counts = Counter(pair for word in words for pair in set(bigrams(word)))

    def indexed(self, word: str) -> str:
        """A word as the index has it."""
        if not UNSPACED.fullmatch(word):
            return word
        return min(bigrams(word), key=self._counts.__getitem__, default=word)
