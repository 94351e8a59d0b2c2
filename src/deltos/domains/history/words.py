"""Words of commits and of questions about them: index words, and version numbers, which those leave out."""

from __future__ import annotations

import re

from deltos.text.words import shared_words

_VERSION = re.compile(r"\d{1,4}(?:\.\d{1,4}){1,3}")
# The word index separates at points; a letter between the numbers keeps them together.
_POINT = "p"
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


def words_of(text: str) -> str:
    """The index words of a text, space-separated."""
    versions = " ".join(version.replace(".", _POINT) for version in _VERSION.findall(text))
    return f"{shared_words().of(text)} {versions}".rstrip()
