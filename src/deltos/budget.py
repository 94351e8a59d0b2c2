"""Tokens: estimate them, fit whole results into a budget, and say what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

CHARACTERS_PER_TOKEN = 4  # the estimate of the tool contract: no tokenizer of any one model
MAX_ANSWER_CHARACTERS = 100_000  # whatever the budget says


class Fitted(NamedTuple):
    """The pieces that fit, in order, and the size of all of them before cutting."""

    pieces: tuple[str, ...]
    original_characters: int
    truncated: bool


def estimate_tokens(text: str) -> int:
    """About how many tokens a model sees in `text`."""
    return (len(text) + CHARACTERS_PER_TOKEN - 1) // CHARACTERS_PER_TOKEN


def characters_for(token_budget: int) -> int:
    """How many characters an answer may have under `token_budget` and under the hard cap."""
    return min(token_budget * CHARACTERS_PER_TOKEN, MAX_ANSWER_CHARACTERS)


def fit(pieces: Sequence[str], *, characters: int, separator: str = "\n") -> Fitted:
    """Keep whole leading pieces within `characters`; the first always shows, cut only if it alone is too long."""
    original = sum(map(len, pieces)) + len(separator) * max(0, len(pieces) - 1)
    kept: list[str] = []
    room = characters
    for piece in pieces:
        cost = len(piece) + (len(separator) if kept else 0)
        if cost > room:
            break
        kept.append(piece)
        room -= cost
    if not kept and pieces:
        kept.append(cut(pieces[0], characters=characters))
    shown = sum(map(len, kept)) + len(separator) * max(0, len(kept) - 1)
    return Fitted(tuple(kept), original, truncated=shown < original)


def cut(text: str, *, characters: int) -> str:
    """Shorten `text` at a line end where possible and mark the cut."""
    if len(text) <= characters:
        return text
    mark = "\n… (cut)"
    head = text[: max(0, characters - len(mark))]
    line_end = head.rfind("\n")
    if line_end > len(head) // 2:
        head = head[:line_end]
    return head + mark


def shown_of(shown: int, total: int, noun: str, how: str, *, is_least: bool = False) -> str:
    """The first line of an answer that does not show all there is: how much of how much, and how to get the rest."""
    amount = f"{shown} of at least {total}" if is_least else f"{shown}/{total}"
    return f"showing {amount} {noun} ({how})"
