"""Texts to word pieces, as encoders of the BERT family were trained with: words, signs, and the longest known parts."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LONGEST_WORD = 100  # characters; a longer one is unknown, as the models take it
_TEXT_CHARACTERS_PER_PIECE = 12  # what comes later cannot be among the first pieces, but in odd texts
_CACHED_WORDS = 50_000


class WordPieces:
    """The numbers of word pieces."""

    def __init__(self, vocabulary: Sequence[str], *, lowers: bool) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self._lowers = lowers
        self.unknown = self._numbers["[UNK]"]
        self._begin, self._end = self._numbers["[CLS]"], self._numbers["[SEP]"]
        self.of_word = lru_cache(maxsize=_CACHED_WORDS)(self._of_word)

    def of(self, text: str, most: int) -> list[int]:
        """At most so many pieces of a text, with the marks of its begin and end among them."""
        found = [self._begin]
        for word in _words(text[: most * _TEXT_CHARACTERS_PER_PIECE], lowers=self._lowers):
            found += self.of_word(word)
            if len(found) >= most - 1:
                break
        return [*found[: most - 1], self._end]

    def _of_word(self, word: str) -> tuple[int, ...]:
        """The longest known part, then the longest of the rest, and so on; all of it is unknown where a part is."""
        if len(word) > LONGEST_WORD:
            return (self.unknown,)
        pieces: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            ends = (end for end in range(len(word), start, -1) if mark + word[start:end] in self._numbers)
            end = next(ends, 0)
            if not end:
                return (self.unknown,)
            pieces.append(self._numbers[mark + word[start:end]])
            start = end
        return tuple(pieces)


def _words(text: str, *, lowers: bool) -> Iterator[str]:
    """Runs of characters; each sign, and each ideograph, is a word of its own."""
    if lowers:
        text = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    word: list[str] = []
    for character in text:
        kind = _kind_of(character)
        if kind == "letter":
            word.append(character)
            continue
        if kind == "nothing":
            continue
        if word:
            yield "".join(word)
            word = []
        if kind == "sign":
            yield character
    if word:
        yield "".join(word)


@lru_cache(maxsize=20_000)
def _kind_of(character: str) -> str:
    code, category = ord(character), unicodedata.category(character)
    if character in " \t\n\r" or category == "Zs":
        return "blank"
    if code in (0, 0xFFFD) or category in ("Cc", "Cf", "Co", "Cs", "Cn"):
        return "nothing"
    is_ascii_sign = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return "sign" if is_ascii_sign or category[0] == "P" or _is_ideograph(code) else "letter"


def _is_ideograph(code: int) -> bool:
    return (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0x20000 <= code <= 0x2CEAF
        or 0xF900 <= code <= 0xFAFF
        or 0x2F800 <= code <= 0x2FA1F
    )
