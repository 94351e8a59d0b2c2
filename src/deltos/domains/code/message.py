"""A query that is a message somebody saw: the longest part of it that stands in the code as text between quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.text.stop_words import INTERROGATIVES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LEAST_WORDS, _LEAST_CHARACTERS = 3, 12
_LEAST_SHARE = 0.4  # of the query's words: values that were put into the message are others
_QUOTES = "\"'`"
_COMMENTS = ("#", "//", "/*", "*", "--", ";")
_MOST_WORDS = 60
_LONGEST_LINE = 2_000


def message_part(query: str, contents: Iterable[str]) -> str:
    """What a message and a quoted text in one of the contents have in common, word for word; empty for a question."""
    spans = _spans(query)
    spoken = [query[start:end].strip("¿([{") for start, end in spans]
    if query.rstrip().endswith("?") or not spoken or spoken[0].lower() in INTERROGATIVES:
        return ""
    wanted = sum(any(char.isalpha() for char in word) for word in spoken) * _LEAST_SHARE
    best = ""
    for content in contents:
        for line in content.split("\n"):
            best = max(best, _longest(query, spans, line[:_LONGEST_LINE], max(_LEAST_WORDS, wanted)), key=len)
    return best


def _spans(text: str) -> list[tuple[int, int]]:
    """Where the words of a text begin and end."""
    spans: list[tuple[int, int]] = []
    at = 0
    for word in text.split()[:_MOST_WORDS]:
        start = text.index(word, at)
        at = start + len(word)
        spans.append((start, at))
    return spans


def _longest(query: str, spans: Sequence[tuple[int, int]], line: str, words: float) -> str:
    """The longest run of so many words that stands in a line after a quote."""
    quoted, best = _quoted(line), ""
    for first, (start, end) in enumerate(spans):
        if query[start:end] not in quoted:
            continue
        last = first
        while last + 1 < len(spans) and query[start : spans[last + 1][1]] in quoted:
            last += 1
        run = query[start : spans[last][1]]
        if last - first + 1 >= words and len(run) >= _LEAST_CHARACTERS and len(run) > len(best):
            best = run
    return best


def _quoted(line: str) -> str:
    """A line from where a text begins in it; empty for comments and the first line of documentation."""
    if line.lstrip().startswith(_COMMENTS):
        return ""
    for at, mark in enumerate(line):
        if mark in _QUOTES and not _is_apostrophe(line, at):
            return "" if line[at : at + 3] == mark * 3 else line[at + 1 :]
    return ""


def _is_apostrophe(line: str, at: int) -> bool:
    """Whether a mark stands inside prose: after a word that is longer than the prefix of a text (`f"`)."""
    return line[at - 1 : at].isalnum() and line[max(0, at - 2) : at].isalnum() and at > 1
