"""Words as FTS5 expressions. Each is quoted, so that none can become syntax."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def any_of(words: Iterable[str]) -> str:
    """Matches any of the words."""
    return " OR ".join('"' + word.replace('"', '""') + '"' for word in words)


def one_or_two_of(alone: Sequence[str], paired: Sequence[str]) -> str:
    """Matches any of `alone`, or two of `paired` together."""
    meetings = [f"({any_of([word])} AND ({any_of(paired[n:])}))" for n, word in enumerate(paired[:-1], start=1)]
    return " OR ".join([*([any_of(alone)] if alone else []), *meetings])
