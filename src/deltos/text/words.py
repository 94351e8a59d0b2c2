"""Convert text to index words: split identifiers, stem words and drop stop words.

Texts and queries are converted identically.
"""

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
# A token of SQLite's tokenizer, which treats an underscore as a separator.
TOKEN = re.compile(r"[^\W_]+")
# Names that the tokenizer would not keep: C++, .NET, and languages with a single letter such as R. They are not
# recognised in code, which contains too many single capital letters.
_SIGNED_NAMES = r"[Cc]\+\+|[CcFf]\#|\.(?:NET|net|Net)"
_SIGNED_NAME = re.compile(rf"(?<![\w'’.&-])(?:{_SIGNED_NAMES}|[B-HJ-Z])(?![\w'’&-])")
_SIGNED_NAME_IN_QUERIES = re.compile(rf"(?<![\w'’.&-])(?:{_SIGNED_NAMES}|[B-HJ-Zcr])(?![\w'’&-])")
_WORDS_OF_SIGNED_NAMES = {"c++": "cpp", "c#": "csharp", "f#": "fsharp", ".net": "dotnet net"}
# Maximum number of cached words, which is enough for a few large repositories. A full cache is cleared.
_MAX_CACHED_WORDS = 400_000
MAX_WORD_CHARACTERS = 64  # longer words are hashes or base64 text


class Words:
    """Converter of text to index words, with a cache."""

    def __init__(self) -> None:
        self._stemmer = stemmer("english")
        self._cache: dict[str, str] = {}

    def of(self, text: str) -> str:
        """Return the index words of a text, separated by spaces: stemmed words, and entire identifiers."""
        memo = self._cache
        pieces = []
        for word in WORD.findall(text):
            known = memo.get(word)
            if known is None:
                known = self._cache_word(word)
            if known:
                pieces.append(known)
        return " ".join(pieces)

    def _cache_word(self, word: str) -> str:
        if len(self._cache) >= _MAX_CACHED_WORDS:
            self._cache.clear()
        known = self._cache[word] = self._analyse(word)
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
    """Return the converter that is shared by this process, with its cache."""
    return Words()


def documentation_words(text: str) -> str:
    """Return the index words of documentation, including names such as C, R, C++ and .NET."""
    return _index_words_with_names(text, _SIGNED_NAME)


def documentation_query_words(question: str) -> str:
    """Return the index words of a documentation query, in which the names C and R may be in lower case."""
    return _index_words_with_names(question, _SIGNED_NAME_IN_QUERIES)


def _index_words_with_names(text: str, pattern: re.Pattern[str]) -> str:
    """Return the index words of a text, including the names that match `pattern`."""
    words = shared_words()
    pieces: list[str] = []
    start = 0
    for match in pattern.finditer(text):
        name = match.group().lower()
        pieces += (words.of(text[start : match.start()]), _WORDS_OF_SIGNED_NAMES.get(name, name))
        start = match.end()
    pieces.append(words.of(text[start:]))
    return " ".join(filter(None, pieces))


def query_words(question: str) -> str:
    """Return the index words of a query without question words, unless the query has no other words."""
    plain = plain_words(question)
    kept = [word for word in plain if word.lower() not in QUESTION_WORDS]
    return shared_words().of(" ".join(kept)) or shared_words().of(" ".join(plain))


class Stemmer(Protocol):
    """The methods of a stemmer from the package PyStemmer."""

    def stemWord(self, word: str) -> str:  # noqa: N802
        """Return the stem of a word."""

    def stemWords(self, words: list[str]) -> list[str]:  # noqa: N802
        """Return the stems of words."""


@cache
def stemmer(algorithm: str) -> Stemmer:
    """Return a stemmer.

    `english` is for index words; `porter` matches the tokenizer of the API tables.
    """
    import Stemmer as PyStemmer  # imported here, because the server does not need it to start

    chosen: Stemmer = PyStemmer.Stemmer(algorithm)
    return chosen


def plain_words(text: str) -> list[str]:
    """Return the words of `text` without stemming or splitting."""
    return WORD.findall(text)


def tokens(text: str) -> list[str]:
    """Split a text into lower-case tokens in the same way as SQLite's tokenizer."""
    return [word.lower() for word in TOKEN.findall(text)]


def unique(words: Iterable[str]) -> list[str]:
    """Return the words in order of first appearance, without duplicates."""
    return list(dict.fromkeys(words))
