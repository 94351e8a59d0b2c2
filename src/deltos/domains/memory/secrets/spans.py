"""Where secrets stand in a text, and the few ways in which this package looks through one.

Literals are found with `str.find`, the end of a run with a search for one letter, both within a bounded distance: so
that no text takes more than linear time.
"""

# Annotations are evaluated here: as texts, each field of a named tuple would be compiled whenever a hook starts.
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

LONGEST_RUN = 4_000
_VAGUE_KINDS = ("authorization", "password", "secret", "high-entropy")
BLANK = re.compile(r"\s")
TOKEN_END = re.compile(r"[^A-Za-z0-9_+/=~%.$-]")
_NOT_BLANK = re.compile(r"[^ \t]")


class SecretSpan(NamedTuple):
    """A stretch of text that must not be stored, and the kind of secret it is."""

    start: int
    end: int
    kind: str


def lower(text: str) -> str:
    """The text in lower case, letter for letter at the same offsets."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.replace("\u0130", "I").lower()


def merged(spans: Iterable[SecretSpan]) -> list[SecretSpan]:
    """The spans in order, overlapping ones as one; it has the kind of the first that tells most."""
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
    return _VAGUE_KINDS.index(kind) + 1 if kind in _VAGUE_KINDS else 0


def offsets(lowered: str, literal: str) -> Iterator[int]:
    """Every offset of a literal in a text."""
    at = lowered.find(literal)
    while at >= 0:
        yield at
        at = lowered.find(literal, at + len(literal))


def run_end(text: str, at: int, stop: re.Pattern[str], *, most: int = LONGEST_RUN) -> int:
    """Where the run that begins at `at` ends: before the first letter that `stop` finds."""
    limit = min(len(text), at + most)
    found = stop.search(text, at, limit)
    return found.start() if found else limit


def past_blanks(text: str, at: int, *, most: int = 40) -> int:
    """The first place from `at` on that is no blank or tab."""
    found = _NOT_BLANK.search(text, at, at + most)
    return found.start() if found else min(len(text), at + most)


def line_around(text: str, at: int) -> tuple[int, int]:
    """Where the line of a place begins and ends, as far as one is looked at."""
    low, high = max(0, at - LONGEST_RUN), min(len(text), at + LONGEST_RUN)
    start = text.rfind("\n", low, at) + 1 or low
    end = text.find("\n", at, high)
    return start, end if end >= 0 else high
