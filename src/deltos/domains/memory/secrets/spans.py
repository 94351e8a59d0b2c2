"""Where secrets stand in a text: spans, and how they are joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Span(NamedTuple):
    """A stretch of text that nobody may read later, and the kind of secret it is."""

    start: int
    end: int
    kind: str


def merged(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, overlapping ones as one; it has the kind of the one that begins first."""
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and span.start < joined[-1].end:
            joined[-1] = joined[-1]._replace(end=max(joined[-1].end, span.end))
        elif span.start < span.end:
            joined.append(span)
    return joined


def places(lowered: str, words: str) -> Iterator[int]:
    """Every place where a literal stands."""
    at = lowered.find(words)
    while at >= 0:
        yield at
        at = lowered.find(words, at + len(words))
