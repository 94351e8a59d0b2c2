"""Loader of languages.json, which contains stop words, synonyms and other word lists in several languages.

A marker is a named list of phrases with the same meaning, such as abbreviations.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_UNSPACED = ("zh", "ja")
TABLE = Path(__file__).with_name("languages.json")


def markers(name: str) -> tuple[str, ...]:
    """Return the words and phrases of the marker `name` in all languages."""
    return _markers()[name]


def has_marker(name: str, text: str) -> bool:
    """Whether a text contains a phrase of the marker `name`.

    In scripts with spaces, a phrase must match entire words.
    """
    words, unspaced = _phrases(name)
    padded = f" {text.lower()} "
    return any(phrase in padded for phrase in words) or any(phrase in padded for phrase in unspaced)


def starts_with_marker(name: str, text: str) -> bool:
    """Whether a text starts with a phrase of the marker `name`."""
    return text.lower().startswith(markers(name))


def stop_words(*names: str) -> frozenset[str]:
    """Return the words of the stop word lists with the given names."""
    lists: dict[str, str] = table()["stop_words"]
    return frozenset(word for name in names for word in lists[name].split())


@cache
def table() -> dict[str, Any]:
    """Return the entire language table."""
    data: dict[str, Any] = json.loads(TABLE.read_text("utf-8"))
    return data


@cache
def _markers() -> dict[str, tuple[str, ...]]:
    rows: dict[str, dict[str, str]] = table()["markers"]
    return {
        name: tuple(phrase for phrases in languages.values() for phrase in phrases.split("|"))
        for name, languages in rows.items()
    }


@cache
def _phrases(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the phrases of a marker in scripts with spaces (surrounded by spaces), and those in other scripts."""
    rows: dict[str, str] = table()["markers"][name]
    spaced = (phrases for language, phrases in rows.items() if language not in _UNSPACED)
    words = tuple(f" {phrase} " for phrases in spaced for phrase in phrases.split("|"))
    return words, tuple(phrase for language in _UNSPACED for phrase in rows.get(language, "").split("|") if phrase)
