"""A query that is a message somebody saw: the longest part of it that stands in the code as text between quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.text.stop_words import CHANGE_VERBS, INTERROGATIVES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LEAST_WORDS, _LEAST_CHARACTERS = 3, 12
_LEAST_SHARE = 0.6  # of the query's words that the text has: values that were put into it are others
_QUOTES = "\"'`"
_COMMENTS = ("#", "//", "/*", "*", "--", ";")
_NO_MESSAGE = INTERROGATIVES | CHANGE_VERBS  # what begins so is a question, or the subject of a commit
_MOST_WORDS = 60
_LONGEST_LINE = 2_000


def message_part(query: str, contents: Iterable[str]) -> str:
    """What a message and a quoted text in one of the contents have in common, word for word; empty for a question and
    for what is to be changed."""
    spans = _spans(query)
    spoken = [query[start:end] for start, end in spans]
    if query.rstrip().endswith("?") or not spoken or spoken[0].lower() in _NO_MESSAGE:
        return ""
    words = [word for word in spoken if any(char.isalpha() for char in word)]
    best = ""
    for content in contents:
        for line in content.split("\n"):
            quoted = _quoted(line[:_LONGEST_LINE])
            if quoted and sum(word in quoted for word in words) >= len(words) * _LEAST_SHARE:
                best = max(best, _longest(query, spans, quoted), key=len)
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


def _longest(query: str, spans: Sequence[tuple[int, int]], quoted: str) -> str:
    """The longest run of words that stands in a text."""
    best = ""
    for first, (start, _) in enumerate(spans):
        last = first - 1
        while last + 1 < len(spans) and query[start : spans[last + 1][1]] in quoted:
            last += 1
        run = query[start : spans[last][1]] if last >= first else ""
        if last - first + 1 >= _LEAST_WORDS and len(run) >= _LEAST_CHARACTERS and len(run) > len(best):
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
