"""Find author names in a query such as `commits by Ben Noordhuis` or `what did Ankita change`."""

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
_MAX_NAME_WORDS = 4  # maximum number of words in an author's name
_MIN_ONE_WORD_NAME_CHARACTERS = 3  # minimum length of a one-word name
_CONTRIBUTION_WORDS = frozenset(
    """commit commits committed change changes changed work works worked contribution contributions author authored
    history log made done wrote written merged""".split()
)
_PREPOSITIONS = frozenset("by from author".split())
_AUXILIARIES = frozenset("did has have had".split())
_AUTHOR_VERBS = frozenset(
    """do done change changed commit committed add added fix fixed remove removed write written wrote work worked been
    merge merged touch touched contribute contributed implement implemented introduce introduced break broken delete
    deleted refactor refactored make made drop dropped rename renamed move moved revert reverted release released
    replace replaced update updated bump bumped""".split()
)
_RECENCY_WORDS = frozenset("last latest newest recent first".split())


@dataclass(frozen=True, slots=True)
class AuthorMention:
    """The authors that a query mentions, and the query without their names."""

    names: tuple[str, ...]
    remaining_query: str


def may_mention_author(question: str) -> bool:
    """Whether a query may mention an author, judging by its wording (without a list of the authors)."""
    words = _words_without_accents(question)
    is_name = 2 <= len(words) <= _MAX_NAME_WORDS and all(word[0].isupper() for word in _WORD.findall(question))
    has_author_clause = any(word in _AUXILIARIES and after not in STOP_WORDS for word, after in pairwise(words))
    return is_name or has_author_clause or not _CONTRIBUTION_WORDS.isdisjoint(words)


def find_authors(question: str, known: Iterable[str]) -> AuthorMention:
    """Return the known authors that a query mentions, and the query without their names."""
    tokens = list(_WORD.finditer(question))
    words = [_without_accents(token[0]) for token in tokens]
    names = _AuthorNames(known)
    for size in range(min(_MAX_NAME_WORDS, len(words)), 0, -1):
        for first in range(len(words) - size + 1):
            found = names.names_with(words[first : first + size])
            if found and _is_used_as_author(
                words, first, size, is_full_name=names.is_full_name(words[first : first + size])
            ):
                start = first - (first > 0 and words[first - 1] in _PREPOSITIONS)
                end = first + size + (words[first + size : first + size + 1] == ["s"])
                rest = f"{question[: tokens[start].start()]} {question[tokens[end - 1].end() :]}"
                return AuthorMention(found, " ".join(rest.split()))
    return AuthorMention((), question)


def _is_used_as_author(words: Sequence[str], first: int, size: int, *, is_full_name: bool) -> bool:
    """Whether a query uses a name as the author of commits. The name consists of `size` words from index `first`."""
    before = words[first - 1] if first else ""
    after = [word for word in words[first + size : first + size + 3] if word not in _RECENCY_WORDS]
    if size == 1 and (
        len(words[first]) < _MIN_ONE_WORD_NAME_CHARACTERS
        or words[first] in STOP_WORDS | QUESTION_WORDS | _CONTRIBUTION_WORDS
    ):
        return False
    if size > 1 and is_full_name and (size == len(words) or not _CONTRIBUTION_WORDS.isdisjoint(words)):
        return True
    return (
        (before in _PREPOSITIONS and not _CONTRIBUTION_WORDS.isdisjoint(words))
        or (before in _AUXILIARIES and after[:1] != [] and after[0] in _AUTHOR_VERBS)
        or (after[:1] == ["s"] and after[1:2] != [] and after[1] in _CONTRIBUTION_WORDS)
    )


class _AuthorNames:
    """Author names, indexed by word."""

    def __init__(self, known: Iterable[str]) -> None:
        self._words_without_accents = {name: _words_without_accents(name) for name in known}
        self._by_word: defaultdict[str, list[str]] = defaultdict(list)
        for name, words in self._words_without_accents.items():
            for word in set(words):
                self._by_word[word].append(name)

    def names_with(self, phrase: Sequence[str]) -> tuple[str, ...]:
        """Return the names that contain `phrase` as consecutive words."""
        candidates = min((self._by_word.get(word, []) for word in phrase), key=len)
        return tuple(name for name in candidates if _contains_phrase(self._words_without_accents[name], phrase))

    def is_full_name(self, phrase: Sequence[str]) -> bool:
        """Whether a name consists of exactly the words of `phrase`."""
        return any(self._words_without_accents[name] == list(phrase) for name in self._by_word.get(phrase[0], []))


def _contains_phrase(words: Sequence[str], phrase: Sequence[str]) -> bool:
    size = len(phrase)
    return any(words[first : first + size] == list(phrase) for first in range(len(words) - size + 1))


def _words_without_accents(text: str) -> list[str]:
    return [_without_accents(word) for word in _WORD.findall(text)]


def _without_accents(word: str) -> str:
    """Return a word in lower case and without accents."""
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))
