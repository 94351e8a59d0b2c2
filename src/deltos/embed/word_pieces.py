"""WordPiece tokenizer of BERT, which splits words into their longest known pieces."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_WORD_CHARACTERS = 100  # maximum length of a word; longer words are unknown, as in the reference implementation
# Assumed maximum number of characters per word piece. Text is truncated before it is split, because later characters
# would exceed the maximum number of pieces.
_TEXT_CHARACTERS_PER_PIECE = 12
_MAX_CACHED_SPLITS = 50_000


class WordPieces:
    """Tokenizer that converts texts to numbers of word pieces."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self.unknown = self._numbers["[UNK]"]
        self._begin, self._end = self._numbers["[CLS]"], self._numbers["[SEP]"]
        self._cached_split_word = lru_cache(maxsize=_MAX_CACHED_SPLITS)(self._split_word)

    def of(self, text: str, max_pieces: int) -> list[int]:
        """Return the numbers of at most `max_pieces` word pieces of a text, including the start and end tokens."""
        found = [self._begin]
        for word in _split_words(text[: max_pieces * _TEXT_CHARACTERS_PER_PIECE]):
            found += self._cached_split_word(word)
            if len(found) >= max_pieces - 1:
                break
        return [*found[: max_pieces - 1], self._end]

    def _split_word(self, word: str) -> tuple[int, ...]:
        """Split a word greedily into the longest known pieces. Return the unknown piece if that fails."""
        if len(word) > MAX_WORD_CHARACTERS:
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


def _split_words(text: str) -> Iterator[str]:
    """Yield the words of a text. Each punctuation mark and each ideograph is a word."""
    text = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    word: list[str] = []
    for character in text:
        character_class = _character_class(character)
        if character_class == "letter":
            word.append(character)
            continue
        if character_class == "nothing":
            continue
        if word:
            yield "".join(word)
            word = []
        if character_class == "sign":
            yield character
    if word:
        yield "".join(word)


@lru_cache(maxsize=20_000)
def _character_class(character: str) -> str:
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
