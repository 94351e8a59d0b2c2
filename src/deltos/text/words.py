"""Index words: split identifiers, stem words and drop stop words in the same way for indexing and queries."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Protocol

from deltos.text.identifiers import split_identifier
from deltos.text.stop_words import QUESTION_WORDS, STOP_WORDS
from deltos.text.unspaced_scripts import bigrams

if TYPE_CHECKING:
    from collections.abc import Iterable

WORD = re.compile(r"\w+")
# A word as SQLite's tokenizer sees it: an underscore is a separator.
TOKEN = re.compile(r"[^\W_]+")
# Names that `WORD` misses: single capitals that are not a pronoun, article or initial, and names with signs. Not used
# for code, which has too many of them.
_SIGNS = r"[Cc]\+\+|[CcFf]\#|\.(?:NET|net|Net)"
_SIGNED = re.compile(rf"(?<![\w'’.&-])(?:{_SIGNS}|[B-HJ-Z])(?![\w'’&-])")
_SIGNED_IN_QUERIES = re.compile(rf"(?<![\w'’.&-])(?:{_SIGNS}|[B-HJ-Zcr])(?![\w'’&-])")
_SIGNED_WORDS = {"c++": "cpp", "c#": "csharp", "f#": "fsharp", ".net": "dotnet net"}
_MAX_MEMO_ENTRIES = 400_000  # enough for the distinct words of a few large repositories; cleared when full
MAX_WORD_CHARACTERS = 64  # longer words are digests and base64 text


class Words:
    """Converter of text to index words, with a cache by identifier."""

    def __init__(self) -> None:
        self._stemmer = stemmer("english")
        self._memo: dict[str, str] = {}

    def of(self, text: str) -> str:
        """Return the index words of `text`, separated by spaces: stemmed parts of identifiers, and each compound
        itself."""
        memo = self._memo
        pieces = []
        for word in WORD.findall(text):
            known = memo.get(word)
            if known is None:
                known = self._learn(word)
            if known:
                pieces.append(known)
        return " ".join(pieces)

    def _learn(self, word: str) -> str:
        if len(self._memo) >= _MAX_MEMO_ENTRIES:
            self._memo.clear()
        known = self._memo[word] = self._analyse(word)
        return known

    def _analyse(self, word: str) -> str:
        pairs = bigrams(word)
        if len(word) > MAX_WORD_CHARACTERS:
            return " ".join(pairs)
        parts = split_identifier(word)
        useful = [part for part in parts if part not in STOP_WORDS and (len(part) > 1 or not part.isascii())]
        stems = self._stemmer.stemWords(useful)
        if len(parts) > 1:
            stems.append("".join(parts))
        return " ".join(stems + pairs)


@cache
def shared_words() -> Words:
    """Return the word cache of this process."""
    return Words()


def documentation_words(text: str) -> str:
    """Return the index words of documentation: those of code, and names such as C, R, C++ and .NET."""
    return _with_signs(text, _SIGNED)


def documentation_query_words(question: str) -> str:
    """Return the index words of a documentation query, in which the names C and R may be in lower case."""
    return _with_signs(question, _SIGNED_IN_QUERIES)


def _with_signs(text: str, pattern: re.Pattern[str]) -> str:
    words = shared_words()
    pieces: list[str] = []
    start = 0
    for match in pattern.finditer(text):
        name = match.group().lower()
        pieces += (words.of(text[start : match.start()]), _SIGNED_WORDS.get(name, name))
        start = match.end()
    pieces.append(words.of(text[start:]))
    return " ".join(filter(None, pieces))


def query_words(question: str) -> str:
    """Return the index words of a query without question words, or all its words if it has no others."""
    plain = plain_words(question)
    kept = [word for word in plain if word.lower() not in QUESTION_WORDS]
    return shared_words().of(" ".join(kept)) or shared_words().of(" ".join(plain))


class Stemmer(Protocol):
    """Interface of the used part of PyStemmer."""

    def stemWord(self, word: str) -> str:  # noqa: N802
        """Return the stem of a word."""

    def stemWords(self, words: list[str]) -> list[str]:  # noqa: N802
        """Return the stems of words."""


@cache
def stemmer(algorithm: str) -> Stemmer:
    """Return a stemmer: `english` for index words, `porter` as the tokenizer of the API tables."""
    import Stemmer as PyStemmer  # deferred: only indexing and searching need it, not starting the server

    chosen: Stemmer = PyStemmer.Stemmer(algorithm)
    return chosen


def plain_words(text: str) -> list[str]:
    """Return the words of `text` without stemming or splitting."""
    return WORD.findall(text)


def tokens(text: str) -> list[str]:
    """Return the words of `text` as SQLite's tokenizer sees them, in lower case."""
    return [word.lower() for word in TOKEN.findall(text)]


def unique(words: Iterable[str]) -> list[str]:
    """Return the words in order of first appearance, without duplicates."""
    return list(dict.fromkeys(words))
