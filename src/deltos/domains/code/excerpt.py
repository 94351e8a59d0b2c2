"""A short excerpt of a hit: from the line asked for, or from the line that shares most words with the query."""

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
# Of a short hit at most a third is shown: a concise answer must be much smaller.
_SHARE = 3


def excerpted(hit: CodeHit, query: CodeQuery, words: Words) -> CodeHit:
    """The hit with an excerpt in place of its content."""
    length = min(CONCISE_CHARACTERS, max(_LEAST_CHARACTERS, len(hit.content) // _SHARE))
    if len(hit.content) > length:
        lines = hit.content.split("\n")
        hit = replace(hit, content=_from_line(lines, _telling_line(hit, lines, query, words), length))
    return replace(hit, context_before="", context_after="")


def _telling_line(hit: CodeHit, lines: Sequence[str], query: CodeQuery, words: Words) -> int:
    """Which of the content's lines to begin with; the header of the definition may precede the hit's own lines."""
    if hit.line:
        return hit.line - hit.end_line - 1 + len(lines)
    terms = set(query.terms)
    shares = [len(terms.intersection(words.of(line).split())) for line in lines]
    return shares.index(max(shares))


def _from_line(lines: Sequence[str], first: int, length: int) -> str:
    text = "\n".join([lines[first].strip(), *lines[first + 1 :]])
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
