"""Index words: identifiers split, words stemmed, noise dropped; indexing and asking agree."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Protocol

from deltos.text.identifiers import split_identifier
from deltos.text.scripts import bigrams
from deltos.text.stop_words import QUESTION_WORDS, STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable

WORD = re.compile(r"\w+")
# A word as SQLite's tokenizer sees it: an underscore separates.
TOKEN = re.compile(r"[^\W_]+")
# What `WORD` loses: one capital letter that is no pronoun, article or initial, and names with signs. Code has too many.
_SIGNS = r"[Cc]\+\+|[CcFf]\#|\.(?:NET|net|Net)"
_SIGNED = re.compile(rf"(?<![\w'’.&-])(?:{_SIGNS}|[B-HJ-Z])(?![\w'’&-])")
_ASKED_SIGNED = re.compile(rf"(?<![\w'’.&-])(?:{_SIGNS}|[B-HJ-Zcr])(?![\w'’&-])")
_SIGNED_WORDS = {"c++": "cpp", "c#": "csharp", "f#": "fsharp", ".net": "dotnet net"}
_MEMO_ENTRIES = 400_000  # the distinct words of a few large repositories; then it starts again
LONGEST_WORD = 64  # longer ones are digests and base64, which nobody asks for


class Words:
    """Turns text into index words, remembering every identifier it has seen."""

    def __init__(self) -> None:
        self._stemmer = stemmer("english")
        self._memo: dict[str, str] = {}

    def of(self, text: str) -> str:
        """The words of `text`, space-separated: parts of identifiers stemmed, each compound kept whole as well."""
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
        if len(self._memo) >= _MEMO_ENTRIES:
            self._memo.clear()
        known = self._memo[word] = self._analyse(word)
        return known

    def _analyse(self, word: str) -> str:
        pairs = bigrams(word)
        if len(word) > LONGEST_WORD:
            return " ".join(pairs)
        parts = split_identifier(word)
        useful = [part for part in parts if part not in STOP_WORDS and (len(part) > 1 or not part.isascii())]
        stems = self._stemmer.stemWords(useful)
        if len(parts) > 1:
            stems.append("".join(parts))
        return " ".join(stems + pairs)


@cache
def shared_words() -> Words:
    """One memory of analysed words per process."""
    return Words()


def documentation_words(text: str) -> str:
    """The words of documentation: as of code, and names of a single letter or with signs: C, R, C++, .NET."""
    return _with_signs(text, _SIGNED)


def documentation_question(question: str) -> str:
    """The same of a question, in which people write c and r small."""
    return _with_signs(question, _ASKED_SIGNED)


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


def asked_words(question: str) -> str:
    """The index words of a question without those that only make it one; all of them where nothing else is said."""
    plain = plain_words(question)
    kept = [word for word in plain if word.lower() not in QUESTION_WORDS]
    return shared_words().of(" ".join(kept)) or shared_words().of(" ".join(plain))


class Stemmer(Protocol):
    """The part of PyStemmer that we use."""

    def stemWord(self, word: str) -> str: ...  # noqa: N802
    def stemWords(self, words: list[str]) -> list[str]: ...  # noqa: N802


@cache
def stemmer(algorithm: str) -> Stemmer:
    """`english` makes index words; `porter` is what the tokenizer of the API tables applies."""
    import Stemmer as PyStemmer  # deferred: only indexing and searching need it, not starting the server

    chosen: Stemmer = PyStemmer.Stemmer(algorithm)
    return chosen


def plain_words(text: str) -> list[str]:
    """The words of `text` as they stand."""
    return WORD.findall(text)


def tokens(text: str) -> list[str]:
    """The words of `text` as SQLite's tokenizer sees them, in lower case."""
    return [word.lower() for word in TOKEN.findall(text)]


def unique(words: Iterable[str]) -> list[str]:
    """The words in order of first appearance, each once."""
    return list(dict.fromkeys(words))
