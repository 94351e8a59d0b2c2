"""Spans of secrets, and bounded searches in a text.

Every search is limited to a maximum distance, so that it takes linear time.
"""

# `from __future__ import annotations` is omitted, because a named tuple would then compile each annotation whenever a
# hook (a short process that the coding agent starts) starts.
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_RUN_CHARACTERS = 4_000
_VAGUE_KINDS = ("authorization", "password", "secret", "high-entropy")
BLANK = re.compile(r"\s")
TOKEN_END = re.compile(r"[^A-Za-z0-9_+/=~%.$-]")
_NOT_BLANK = re.compile(r"[^ \t]")


class SecretSpan(NamedTuple):
    """Span of a secret in a text, with the kind of the secret."""

    start: int
    end: int
    kind: str


def lower(text: str) -> str:
    """Return the text in lower case. Every character keeps its offset."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.replace("\u0130", "I").lower()


def merge_spans(spans: Iterable[SecretSpan]) -> list[SecretSpan]:
    """Return the spans in order, with overlapping spans merged; a merged span has the more specific kind."""
    joined: list[SecretSpan] = []
    for span in sorted(spans):
        if joined and span.start < joined[-1].end:
            last = joined[-1]
            kind = min(last.kind, span.kind, key=_vagueness)
            joined[-1] = SecretSpan(last.start, max(last.end, span.end), kind)
        elif span.start < span.end:
            joined.append(span)
    return joined


def _vagueness(kind: str) -> int:
    """Return a number that is higher for less specific kinds of secrets, and 0 for specific kinds."""
    return _VAGUE_KINDS.index(kind) + 1 if kind in _VAGUE_KINDS else 0


def offsets(lowered: str, literal: str) -> Iterator[int]:
    """Yield every offset of a fixed string in a text."""
    at = lowered.find(literal)
    while at >= 0:
        yield at
        at = lowered.find(literal, at + len(literal))


def run_end(text: str, at: int, stop: re.Pattern[str], *, max_characters: int = MAX_RUN_CHARACTERS) -> int:
    """Return the end offset of the characters from `at` to the first match of `stop`, or to the maximum length."""
    limit = min(len(text), at + max_characters)
    found = stop.search(text, at, limit)
    return found.start() if found else limit


def skip_blanks(text: str, at: int, *, max_characters: int = 40) -> int:
    """Return the offset of the first character at or after `at` that is not a space or tab."""
    found = _NOT_BLANK.search(text, at, at + max_characters)
    return found.start() if found else min(len(text), at + max_characters)


def line_around(text: str, at: int) -> tuple[int, int]:
    """Return the start and end of the line that contains an offset, limited to `MAX_RUN_CHARACTERS` in each
    direction."""
    low, high = max(0, at - MAX_RUN_CHARACTERS), min(len(text), at + MAX_RUN_CHARACTERS)
    start = text.rfind("\n", low, at) + 1 or low
    end = text.find("\n", at, high)
    return start, end if end >= 0 else high
