"""Word lists for redaction (words.json): names of secrets, placeholders, and words around secrets in sentences."""

import json
from functools import cache
from pathlib import Path
from typing import Any


def word_list(name: str) -> tuple[str, ...]:
    """Return the words and phrases of the list `name`, in order."""
    words = _lists()[name]
    return tuple(words.split() if isinstance(words, str) else words)


def word_set(name: str) -> frozenset[str]:
    """Return the set of words and phrases of the list `name`."""
    return frozenset(word_list(name))


def word_table(name: str) -> list[tuple[str, str]]:
    """Return the rows of the table `name` as pairs of key and value."""
    return list(_lists()[name].items())


@cache
def _lists() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
    return data
