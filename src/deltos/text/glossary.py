"""Translations of query words, so that a query finds texts in other languages.

Each row of the glossary contains the words for one meaning in English, German, Spanish, Chinese and Japanese.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from typing import TYPE_CHECKING

from deltos.text.language_table import table
from deltos.text.unspaced_scripts import UNSPACED, bigrams

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ENDINGS = ("ing", "ed", "es", "en", "s", "e", "n")
_MIN_STEM_CHARACTERS = 3  # minimum length of a word without its ending


def translations(word: str) -> tuple[str, ...]:
    """Return the translations of a word or bigram as index terms."""
    known = _load_table()
    stems = (
        word[: -len(end)] for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= _MIN_STEM_CHARACTERS
    )
    return next((known[form] for form in (word, *stems) if form in known), ())


@cache
def _load_table() -> Mapping[str, tuple[str, ...]]:
    """Return the translations of all words in the glossary, by word."""
    rows = [
        [[word.strip().lower() for word in column.split(",")] for column in line.split("|")]
        for line in table()["glossary"]
    ]
    rarest_bigrams = _RarestBigrams(word for row in rows for column in row for word in column)
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        indexed_form = [[rarest_bigrams.indexed_form(word) for word in column] for column in row]
        for at, column in enumerate(indexed_form):
            others = [word for other, words in enumerate(indexed_form) if other != at for word in words]
            for word in column:
                found[word].update(dict.fromkeys(others))
    return {word: tuple(other for other in others if other != word) for word, others in found.items()}


class _RarestBigrams:
    """Finds the rarest bigram (pair of adjacent characters) of a word in a script without spaces."""

    def __init__(self, words: Iterable[str]) -> None:
        self._counts = Counter(pair for word in words for pair in set(bigrams(word)))

    def indexed_form(self, word: str) -> str:
        """Return the index term for a word: its rarest bigram, or the word itself if its script uses spaces."""
        if not UNSPACED.fullmatch(word):
            return word
        return min(bigrams(word), key=self._counts.__getitem__, default=word)
