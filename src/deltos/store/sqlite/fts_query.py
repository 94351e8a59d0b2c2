"""Build FTS5 query expressions. Every word is quoted, so that user input cannot become query syntax."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def any_of(words: Iterable[str]) -> str:
    """Return an expression that matches any of the words."""
    return " OR ".join('"' + word.replace('"', '""') + '"' for word in words)


def any_single_or_pair(single_terms: Sequence[str], paired_terms: Sequence[str]) -> str:
    """Return an expression that matches any of `single_terms`, or any two of `paired_terms`."""
    meetings = [
        f"({any_of([word])} AND ({any_of(paired_terms[n:])}))" for n, word in enumerate(paired_terms[:-1], start=1)
    ]
    return " OR ".join([*([any_of(single_terms)] if single_terms else []), *meetings])
