"""Spans of secrets, and bounded searches in a text.

Every search is limited to a maximum distance, so that it takes linear time.
"""

# Without `from __future__ import annotations`, because a named tuple would compile each annotation at every hook start.
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_RUN_CHARACTERS = 4_000
_VAGUE_KINDS = ("authorization", "password", "secret", "high-entropy")
BLANK = re.compile(r"\s")
TOKEN_END = re.compile(r"[^A-Za-z0-9_+/=~%.$-]")
_NOT_BLANK = re.compile(r"[^ \t]")


class SecretSpan(NamedTuple):
    """Span of a secret in a text, and the kind of the secret."""

    start: int
    end: int
    kind: str


def lower(text: str) -> str:
    """Return the text in lower case, with every character at the same offset."""
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
    """Return how unspecific a kind is; 0 for specific kinds."""
    return _VAGUE_KINDS.index(kind) + 1 if kind in _VAGUE_KINDS else 0


def offsets(lowered: str, literal: str) -> Iterator[int]:
    """Yield every offset of a literal in a text."""
    at = lowered.find(literal)
    while at >= 0:
        yield at
        at = lowered.find(literal, at + len(literal))


def run_end(text: str, at: int, stop: re.Pattern[str], *, max_characters: int = MAX_RUN_CHARACTERS) -> int:
    """Return the end of the run of characters that starts at `at`: the first match of `stop`, or the limit."""
    limit = min(len(text), at + max_characters)
    found = stop.search(text, at, limit)
    return found.start() if found else limit


def skip_blanks(text: str, at: int, *, max_characters: int = 40) -> int:
    """Return the offset of the first character from `at` on that is not a space or tab."""
    found = _NOT_BLANK.search(text, at, at + max_characters)
    return found.start() if found else min(len(text), at + max_characters)


def line_around(text: str, at: int) -> tuple[int, int]:
    """Return the start and end of the line that contains an offset, limited to `MAX_RUN_CHARACTERS` in each
    direction."""
    low, high = max(0, at - MAX_RUN_CHARACTERS), min(len(text), at + MAX_RUN_CHARACTERS)
    start = text.rfind("\n", low, at) + 1 or low
    end = text.find("\n", at, high)
    return start, end if end >= 0 else high
