"""Functions that estimate the tokens of answers and limit answers to a token budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

CHARACTERS_PER_TOKEN = 4  # estimated average, used for all tokenizers
MAX_ANSWER_CHARACTERS = 100_000  # maximum size of an answer, even if the token budget is larger
TRUNCATION_MARK = "… (truncated)"


class Fitted(NamedTuple):
    """Sections from the start of an answer that fit into a size limit, and the total size of all sections."""

    pieces: tuple[str, ...]
    original_characters: int
    truncated: bool


def estimate_tokens(text: str) -> int:
    """Return the approximate number of tokens of `text`."""
    return (len(text) + CHARACTERS_PER_TOKEN - 1) // CHARACTERS_PER_TOKEN


def characters_for(token_budget: int) -> int:
    """Return the maximum number of characters of an answer with the given token budget."""
    return min(token_budget * CHARACTERS_PER_TOKEN, MAX_ANSWER_CHARACTERS)


def fit(pieces: Sequence[str], *, characters: int, separator: str = "\n") -> Fitted:
    """Return as many `pieces` as fit into `characters`, in order. If even the first does not fit, truncate it."""
    original = sum(map(len, pieces)) + len(separator) * max(0, len(pieces) - 1)
    kept: list[str] = []
    remaining_characters = characters
    for piece in pieces:
        cost = len(piece) + (len(separator) if kept else 0)
        if cost > remaining_characters:
            break
        kept.append(piece)
        remaining_characters -= cost
    if not kept and pieces:
        kept.append(truncate(pieces[0], characters=characters))
    shown = sum(map(len, kept)) + len(separator) * max(0, len(kept) - 1)
    return Fitted(tuple(kept), original, truncated=shown < original)


def truncate(text: str, *, characters: int) -> str:
    """Truncate `text` if it exceeds `characters`, preferably at the end of a line, and append a truncation mark."""
    if len(text) <= characters:
        return text
    mark = f"\n{TRUNCATION_MARK}"[: max(0, characters)]
    head = text[: max(0, characters - len(mark))]
    line_end = head.rfind("\n")
    if line_end > len(head) // 2:
        head = head[:line_end]
    return head + mark
