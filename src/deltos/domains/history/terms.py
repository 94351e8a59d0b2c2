"""Index terms of commits and history queries, including version numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.text.words import shared_words

if TYPE_CHECKING:
    from collections.abc import Iterable

_VERSION = re.compile(r"\d{1,4}(?:\.\d{1,4}){1,3}")
# A number that may be a version; not an issue number, or part of a word, date or time.
_NUMBER = re.compile(r"(?<![\w#.:/-])v?(\d{1,4}(?:\.\d{1,4}){0,3})(?![\w:/-]|\.\d)")
_ATTACHED_NUMBER = re.compile(r"(?<![A-Za-z])[A-Za-z]{1,12}(\d{1,4}(?:\.\d{1,4}){0,3})(?![\w]|\.\d)")
# Replaces the dots in version numbers, because the word index splits words at dots.
_DOT_REPLACEMENT = "p"
_MINOR_RELEASE_SCORE = 0.7  # score of a text that mentions version 3.1 if the query asks for version 3
# Number of minor releases that a query for a major version includes. Version 3 includes 3.0 to 3.12.
_MAX_MINOR_RELEASES = 13
# Groups of stemmed synonyms, one group for each kind of change.
_CHANGE_SYNONYMS = (
    ("drop", "remov", "delet", "discontinu"),
    ("add", "introduc", "implement", "begin", "start"),
    ("renam", "move"),
    ("upgrad", "bump", "updat"),
    ("fix", "correct", "repair"),
    ("revert", "undo"),
    ("replac", "switch", "migrat"),
)
SAME_CHANGE = {word: group for group in _CHANGE_SYNONYMS for word in group}
# Changes that a result must mention. For example, a commit that adds X does not answer "when was X dropped".
_REQUIRED_CHANGES = frozenset(SAME_CHANGE[word] for word in ("drop", "renam", "revert", "replac"))
_WHEN_QUESTION_PREFIXES = ("when ", "since when ", "who ")


def asks_when(question: str) -> bool:
    """Whether a query asks when a change was made, or by whom."""
    return question.lower().lstrip().startswith(_WHEN_QUESTION_PREFIXES)


def named_changes(question: str, words: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the required kinds of change, such as removal, in a "when" or "who" query, as groups of synonyms."""
    if not asks_when(question):
        return []
    return list(
        dict.fromkeys(group for word in words if (group := SAME_CHANGE.get(word)) in _REQUIRED_CHANGES and group)
    )


def words_of(text: str) -> str:
    """Return the index terms of a text, separated by spaces."""
    versions = " ".join(version.replace(".", _DOT_REPLACEMENT) for version in _VERSION.findall(text))
    return f"{shared_words().of(text)} {versions}".rstrip()


def numbers_in(text: str) -> list[str]:
    """Return the numbers in a text that may be versions, such as `2.6`, or `3` in `Python 3`."""
    return list(dict.fromkeys(_NUMBER.findall(text)))


def version_match_share(text: str, number: str) -> float:
    """Return 1 if a text contains a version number, a lower score if it contains a minor release, or 0."""
    found_numbers = (*_NUMBER.findall(text), *_ATTACHED_NUMBER.findall(text))
    if number in found_numbers:
        return 1.0
    return _MINOR_RELEASE_SCORE if any(each.startswith(f"{number}.") for each in found_numbers) else 0.0


def version_terms(number: str, word: str) -> tuple[str, ...]:
    """Return the index terms of a version: its number, its minor releases, and `word` followed by the number."""
    releases = (number,) if "." in number else (number, *(f"{number}.{minor}" for minor in range(_MAX_MINOR_RELEASES)))
    written = [f"{word}{number}", *(release.replace(".", _DOT_REPLACEMENT) for release in releases)]
    return tuple(dict.fromkeys(written))
