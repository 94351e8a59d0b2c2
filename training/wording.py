"""Index words where the stemmer is not installed: the splitting of pinakes/text.py, with stems from a list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_LONGEST_WORD = 64


class ListedWords:
    """Turns text into ids of index words; words outside the vocabulary have none."""

    def __init__(self, vocabulary: Mapping[str, int], stems: Mapping[str, str], stop_words: Collection[str]) -> None:
        self._vocabulary = vocabulary
        self._stems = stems
        self._stop_words = stop_words
        self._memo: dict[str, tuple[int, ...]] = {}

    def ids(self, text: str, most: int) -> list[int]:
        """The first so many different words of a text, as ids."""
        found: dict[int, None] = {}
        for word in _WORD.findall(text):
            known = self._memo.get(word)
            if known is None:
                known = self._memo[word] = self._analyse(word)
            for number in known:
                found[number] = None
        return list(found)[:most]

    def _analyse(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST_WORD:
            return ()
        parts = [part.lower() for part in _PART.findall(word)]
        useful = [part for part in parts if part not in self._stop_words and (len(part) > 1 or not part.isascii())]
        stems = [self._stems.get(part, part) for part in useful]
        if len(parts) > 1:
            stems.append("".join(parts))
        return tuple(self._vocabulary[stem] for stem in stems if stem in self._vocabulary)
