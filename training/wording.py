"""Split texts into words as in deltos/text/words.py, but with a list of stems instead of the stemmer."""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)
_MAX_WORD_CHARACTERS = 64


class ListedWords:
    """Converts text to word ids, without words that are not in the vocabulary."""

    def __init__(self, vocabulary: Mapping[str, int], stems: Mapping[str, str], stop_words: Collection[str]) -> None:
        self._vocabulary = vocabulary
        self._stems = stems
        self._stop_words = stop_words
        self._memo: dict[str, tuple[int, ...]] = {}

    def counted(self, text: str, most: int) -> list[int]:
        """Return the first `most` words of a text, with repetitions."""
        return list(islice(self._word_ids(text), most))

    def distinct(self, text: str, most: int) -> list[int]:
        """Return the first `most` distinct words of a text."""
        return list(dict.fromkeys(self._word_ids(text)))[:most]

    def _word_ids(self, text: str) -> Iterator[int]:
        return chain.from_iterable(map(self._known_id, _WORD.findall(text)))

    def _known_id(self, word: str) -> tuple[int, ...]:
        known = self._memo.get(word)
        if known is None:
            known = self._memo[word] = tuple(
                self._vocabulary[stem] for stem in self._analyse_word(word) if stem in self._vocabulary
            )
        return known

    def _analyse_word(self, word: str) -> list[str]:
        pairs = [run[start : start + 2] for run in _UNSPACED.findall(word) for start in range(len(run) - 1)]
        if len(word) > _MAX_WORD_CHARACTERS:
            return pairs
        parts = [part.lower() for part in _PART.findall(word)]
        useful = [part for part in parts if part not in self._stop_words and (len(part) > 1 or not part.isascii())]
        stems = [self._stems.get(part, part) for part in useful]
        if len(parts) > 1:
            stems.append("".join(parts))
        return stems + pairs
