"""Whose commits a question asks for: `commits by Ben Noordhuis`, `what did Ankita change`. Knows names, not commits."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from deltos.text.stop_words import QUESTION_WORDS, STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WORD = re.compile(r"\w+")
_MOST_WORDS = 4  # of a name
_SHORTEST_ALONE = 3  # characters of a name of one word
_NOUNS = frozenset(
    """commit commits committed change changes changed work works worked contribution contributions author authored
    history log made done wrote written merged""".split()
)
_BEFORE = frozenset("by from author".split())
_ASKS = frozenset("did has have had".split())
_DOES = frozenset(
    """do done change changed commit committed add added fix fixed remove removed write written wrote work worked been
    merge merged touch touched contribute contributed implement implemented introduce introduced break broken delete
    deleted refactor refactored make made drop dropped rename renamed move moved revert reverted release released
    replace replaced update updated bump bumped""".split()
)
_NEWEST = frozenset("last latest newest recent first".split())


@dataclass(frozen=True, slots=True)
class AskedAuthors:
    """The authors that a question asks for, none where it does not, and the question without their name."""

    names: tuple[str, ...]
    rest: str


def may_name_author(question: str) -> bool:
    """Whether a question is put as one for somebody's commits may be. Knows no names, and costs nothing."""
    words = _words(question)
    is_name = 2 <= len(words) <= _MOST_WORDS and all(word[0].isupper() for word in _WORD.findall(question))
    asks = any(word in _ASKS and after not in STOP_WORDS for word, after in pairwise(words))
    return is_name or asks or not _NOUNS.isdisjoint(words)


def asked_authors(question: str, known: Iterable[str]) -> AskedAuthors:
    """The authors among the known ones whose commits a question asks for."""
    tokens = list(_WORD.finditer(question))
    words = [_folded(token[0]) for token in tokens]
    names = _Names(known)
    for size in range(min(_MOST_WORDS, len(words)), 0, -1):
        for place in range(len(words) - size + 1):
            found = names.having(words[place : place + size])
            if found and _is_asked_for(words, place, size, is_whole=names.is_whole(words[place : place + size])):
                start = place - (place > 0 and words[place - 1] in _BEFORE)
                end = place + size + (words[place + size : place + size + 1] == ["s"])
                rest = f"{question[: tokens[start].start()]} {question[tokens[end - 1].end() :]}"
                return AskedAuthors(found, " ".join(rest.split()))
    return AskedAuthors((), question)


def _is_asked_for(words: Sequence[str], place: int, size: int, *, is_whole: bool) -> bool:
    """Whether what looks like a name stands where the name of an author stands."""
    before = words[place - 1] if place else ""
    after = [word for word in words[place + size : place + size + 3] if word not in _NEWEST]
    if size == 1 and (len(words[place]) < _SHORTEST_ALONE or words[place] in STOP_WORDS | QUESTION_WORDS | _NOUNS):
        return False
    if size > 1 and is_whole and (size == len(words) or not _NOUNS.isdisjoint(words)):
        return True
    return (
        (before in _BEFORE and not _NOUNS.isdisjoint(words))
        or (before in _ASKS and after[:1] != [] and after[0] in _DOES)
        or (after[:1] == ["s"] and after[1:2] != [] and after[1] in _NOUNS)
    )


class _Names:
    """The known names by their words."""

    def __init__(self, known: Iterable[str]) -> None:
        self._words = {name: _words(name) for name in known}
        self._by_word: defaultdict[str, list[str]] = defaultdict(list)
        for name, words in self._words.items():
            for word in set(words):
                self._by_word[word].append(name)

    def having(self, phrase: Sequence[str]) -> tuple[str, ...]:
        """The names in which these words stand side by side."""
        among = min((self._by_word.get(word, []) for word in phrase), key=len)
        return tuple(name for name in among if _holds(self._words[name], phrase))

    def is_whole(self, phrase: Sequence[str]) -> bool:
        """Whether one of the names is just these words."""
        return any(self._words[name] == list(phrase) for name in self._by_word.get(phrase[0], []))


def _holds(words: Sequence[str], phrase: Sequence[str]) -> bool:
    size = len(phrase)
    return any(words[place : place + size] == list(phrase) for place in range(len(words) - size + 1))


def _words(text: str) -> list[str]:
    return [_folded(word) for word in _WORD.findall(text)]


def _folded(word: str) -> str:
    """A word in small letters without accents: people leave them out."""
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))
