"""Words of commits and of questions about them: index words, and version numbers, which those leave out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.text.words import shared_words

if TYPE_CHECKING:
    from collections.abc import Iterable

_VERSION = re.compile(r"\d{1,4}(?:\.\d{1,4}){1,3}")
# Numbers that may be versions: neither of an issue, nor part of a word, a date or a time.
_NUMBER = re.compile(r"(?<![\w#.:/-])v?(\d{1,4}(?:\.\d{1,4}){0,3})(?![\w:/-]|\.\d)")
_ATTACHED = re.compile(r"(?<![A-Za-z])[A-Za-z]{1,12}(\d{1,4}(?:\.\d{1,4}){0,3})(?![\w]|\.\d)")
# The word index separates at points; a letter between the numbers keeps them together.
_POINT = "p"
_RELEASE_SHARE = 0.7
_RELEASES = 13  # of a whole number that are looked for: Python 3 had thirteen before 2026
# Ways to say the same change, as index words.
_SAME_CHANGE = (
    ("drop", "remov", "delet", "discontinu"),
    ("add", "introduc", "implement", "begin", "start"),
    ("renam", "move"),
    ("upgrad", "bump", "updat"),
    ("fix", "correct", "repair"),
    ("revert", "undo"),
    ("replac", "switch", "migrat"),
)
SAME_CHANGE = {word: group for group in _SAME_CHANGE for word in group}
# Changes that a commit has to name to be one: what supports a thing does not drop it.
_NAMED_CHANGES = frozenset(SAME_CHANGE[word] for word in ("drop", "renam", "revert", "replac"))
_ASKS_WHEN = ("when ", "since when ", "who ")


def asks_when(question: str) -> bool:
    """Whether a question is for the moment of a change, or for who made it."""
    return question.lower().lstrip().startswith(_ASKS_WHEN)


def named_changes(question: str, words: Iterable[str]) -> list[tuple[str, ...]]:
    """The changes, of a question with these index words, that what answers has to name in one of several words."""
    if not asks_when(question):
        return []
    return list(dict.fromkeys(group for word in words if (group := SAME_CHANGE.get(word)) in _NAMED_CHANGES and group))


def words_of(text: str) -> str:
    """The index words of a text, space-separated."""
    versions = " ".join(version.replace(".", _POINT) for version in _VERSION.findall(text))
    return f"{shared_words().of(text)} {versions}".rstrip()


def numbers_in(text: str) -> list[str]:
    """The numbers of a text that may be versions: `2.6`, `3` of `Python 3`."""
    return list(dict.fromkeys(_NUMBER.findall(text)))


def share_of_number(text: str, number: str) -> float:
    """How far a text speaks of a version: 1 where it has that (`py3` is `3`), less for one that belongs to it, as `2.7`
    does to `2`, and 0 otherwise."""
    said = (*_NUMBER.findall(text), *_ATTACHED.findall(text))
    if number in said:
        return 1.0
    return _RELEASE_SHARE if any(each.startswith(f"{number}.") for each in said) else 0.0


def words_of_number(number: str, named: str) -> tuple[str, ...]:
    """The index words of a version: itself, the releases of a whole number, and both written with what they are of."""
    releases = (number,) if "." in number else (number, *(f"{number}.{minor}" for minor in range(_RELEASES)))
    written = [f"{named}{number}", *(release.replace(".", _POINT) for release in releases)]
    return tuple(dict.fromkeys(written))
