"""Words out of code and questions: identifiers split, words stemmed, noise dropped; indexing and asking agree."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
# Chinese, Japanese, Korean, Thai, Lao, Khmer: scripts that put no spaces between words.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)
_MEMO_ENTRIES = 400_000
_LONGEST_WORD = 64

# Words that say nothing about which code is meant: left out of the index and of questions alike.
STOP_WORDS = frozenset(
    """a an and are as at be been being but by did do does done for from had has have if in into is it its me my no nor
    not of off on or our out over own she so some such than that the their them then there these they this those to too
    under up us very was we were will with would you your
    self return else elif end let const var def fn func""".split()
)
# Words that open a question: few texts have them, and those that do are not the ones meant.
INTERROGATIVES = frozenset("how what where when which who why whose whom".split())
# Words that turn a sentence into a question. Rare in code, they would weigh heavily: dropped from questions only.
QUESTION_WORDS = INTERROGATIVES | frozenset(
    """can could should shall may might must does happen happens find show
    explain tell look need want used using use uses code implementation implement implements implemented implementing
    handle handles handled handling logic part defined definition responsible work works file files""".split()
)

# Verbs that open a commit subject: they name the change, not the code.
CHANGE_VERBS = frozenset(
    """fix fixes fixed fixing add adds added adding make makes allow allows introduce introduces support improve
    improves refactor ensure ensures update updates expose exposes prevent avoid correct bump""".split()
)


class Words:
    """Turns text into index words, remembering every identifier it has seen."""

    def __init__(self) -> None:
        self._stemmer = _stemmer()
        self._memo: dict[str, str] = {}

    def of(self, text: str) -> str:
        """The words of `text`, space-separated: parts of identifiers stemmed, each compound kept whole as well."""
        memo = self._memo
        pieces = []
        for word in _WORD.findall(text):
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
        pairs = [] if word.isascii() else [pair for run in _UNSPACED.findall(word) for pair in _pairs(run)]
        if len(word) > _LONGEST_WORD:
            return " ".join(pairs)
        parts = [part.lower() for part in _PART.findall(word)]
        useful = [part for part in parts if part not in STOP_WORDS and (len(part) > 1 or not part.isascii())]
        stems = self._stemmer.stemWords(useful)
        if len(parts) > 1:
            stems.append("".join(parts))
        return " ".join(stems + pairs)


@cache
def shared_words() -> Words:
    """One memory of analysed words per process."""
    return Words()


def _pairs(run: str) -> list[str]:
    """Neighbouring characters, two at a time: what stands in for words where no space parts them."""
    return [run[start : start + 2] for start in range(len(run) - 1)]


class _Stemmer(Protocol):
    """The part of PyStemmer that we use."""

    def stemWords(self, words: list[str]) -> list[str]: ...  # noqa: N802


@cache
def _stemmer() -> _Stemmer:
    import Stemmer  # deferred: only indexing and searching need it, not starting the server

    stemmer: _Stemmer = Stemmer.Stemmer("english")
    return stemmer


def split_identifier(identifier: str) -> list[str]:
    """`HTTPServer_port2` as `http`, `server`, `port`, `2`."""
    return [part.lower() for part in _PART.findall(identifier)]


def plain_words(text: str) -> list[str]:
    """The words of `text` as they stand."""
    return _WORD.findall(text)


def unique(words: Iterable[str]) -> list[str]:
    """The words in order of first appearance, each once."""
    return list(dict.fromkeys(words))
