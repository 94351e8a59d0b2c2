"""The few characters of a hit that tell most: from the line asked for on, or from the one that tells most."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.model import CodeHit
    from deltos.domains.code.query import CodeQuery
    from deltos.text.words import Words

CONCISE_CHARACTERS = 200
_LEAST_CHARACTERS = 40
# Of a short hit, at most one part in so many is shown: concise has to pay.
_SHARE = 3


def excerpted(hit: CodeHit, query: CodeQuery, words: Words) -> CodeHit:
    """The hit with the telling part of its content alone."""
    length = min(CONCISE_CHARACTERS, max(_LEAST_CHARACTERS, len(hit.content) // _SHARE))
    if len(hit.content) > length:
        lines = hit.content.split("\n")
        hit = replace(hit, content=_from_line(lines, _telling_line(hit, lines, query, words), length))
    return replace(hit, context_before="", context_after="")


def _telling_line(hit: CodeHit, lines: Sequence[str], query: CodeQuery, words: Words) -> int:
    """Which of the content's lines to begin with; above the hit's own lines the header of its definition may stand."""
    if hit.line:
        return hit.line - hit.end_line - 1 + len(lines)
    terms = set(query.terms)
    shares = [len(terms.intersection(words.of(line).split())) for line in lines]
    return shares.index(max(shares))


def _from_line(lines: Sequence[str], first: int, length: int) -> str:
    text = "\n".join([lines[first].strip(), *lines[first + 1 :]])
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
