"""Fit results into the token budget of an answer.

Each result is shown completely or omitted, and source lines are as long as the budget allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltos.budget import CHARACTERS_PER_TOKEN, characters_for, fit
from deltos.errors import NotFound
from deltos.tool import Answer
from deltos.wording import truncated

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

_GENERATED_MARK = " (generated)"
# Maximum numbers of characters of a source line, tried in this order until all results fit the budget.
LINE_WIDTHS = (160, 120, 90, 70, 50, 36)


class Piece(NamedTuple):
    """Text that an answer contains completely or not at all, with the number of results in it."""

    text: str
    results: int = 1


class BudgetedLines:
    """Formatter that fits pieces of text into the token budget of an answer and marks generated files."""

    def __init__(
        self, *, token_budget: int, notes: Sequence[str] = (), generated: Collection[str] = frozenset()
    ) -> None:
        self._characters = characters_for(token_budget)
        self._notes = tuple(notes)
        self._generated = generated

    def answer(self, header: Callable[[int], str], pieces: Sequence[Piece], *, last: str = "") -> Answer:
        """Return an answer with as many pieces of text as fit the budget; a piece is never split.

        `header` returns the first lines of the answer, given the number of shown results. `last` is text at the end of
        the answer.
        """
        pieces = self._mark_pieces(pieces)
        fitted = fit([piece.text for piece in pieces], characters=self._remaining_characters(header, last))
        shown = sum(piece.results for piece in pieces[: len(fitted.pieces)])
        text = "\n".join([self._mark_text(header(shown)), *self._notes, *fitted.pieces, *([last] if last else [])])
        return Answer(text, truncated=fitted.truncated, original_characters=fitted.original_characters)

    def answer_with_widest_lines(
        self, header: Callable[[int], str], make: Callable[[int], Sequence[Piece]], *, last: str = ""
    ) -> Answer:
        """Return an answer with the greatest line length at which all pieces fit the budget.

        `make` returns the pieces for a given line length.
        """
        available = self._remaining_characters(header, last)
        pieces: Sequence[Piece] = ()
        for characters in LINE_WIDTHS:
            pieces = self._mark_pieces(make(characters))
            if sum(len(piece.text) + 1 for piece in pieces) <= available + 1:
                break
        return self.answer(header, pieces, last=last)

    @property
    def tokens(self) -> int:
        """The maximum number of tokens of an answer."""
        return self._characters // CHARACTERS_PER_TOKEN

    def with_generated_files(self, generated: Collection[str]) -> BudgetedLines:
        """Return a copy that marks the given generated files."""
        return BudgetedLines(token_budget=self.tokens, notes=self._notes, generated=generated)

    def with_max_tokens(self, tokens: int) -> BudgetedLines:
        """Return a copy with a budget of at most `tokens`."""
        return BudgetedLines(token_budget=min(tokens, self.tokens), notes=self._notes, generated=self._generated)

    def split_into(self, number: int, *, reserved: int) -> list[BudgetedLines]:
        """Split the budget, less `reserved` characters, into `number` equal parts.

        Only the first part includes the notes.
        """
        tokens = max(1, (self._characters - reserved) // CHARACTERS_PER_TOKEN // number)
        return [
            BudgetedLines(token_budget=tokens, notes=() if part else self._notes, generated=self._generated)
            for part in range(number)
        ]

    def count_fitting(self, header: Callable[[int], str], pieces: Sequence[Piece]) -> int:
        """Return the number of pieces of text that fit the budget together with the header."""
        return len(fit([piece.text for piece in pieces], characters=self._remaining_characters(header, "")).pieces)

    def _remaining_characters(self, header: Callable[[int], str], last: str) -> int:
        """Return the number of characters that remain for results in an answer that is truncated."""
        around = [header(0), *self._notes, *([last] if last else [])]
        return self._characters - sum(len(line) + 1 for line in around)

    def _mark_pieces(self, pieces: Sequence[Piece]) -> Sequence[Piece]:
        return [piece._replace(text=self._mark_text(piece.text)) for piece in pieces] if self._generated else pieces

    def _mark_text(self, text: str) -> str:
        return mark_generated(text, self._generated)


def mark_generated(text: str, generated: Collection[str]) -> str:
    """Mark the paths of generated files at the beginning of a line or in the location of a definition."""
    return "\n".join(_mark_line(line, generated) for line in text.split("\n")) if generated else text


def _mark_line(line: str, generated: Collection[str]) -> str:
    if line in generated:
        return line + _GENERATED_MARK
    words = line.split(" ", 3)
    for position, word in enumerate(words[:3]):
        path, colon, _ = word.partition(":")
        if path in generated and (colon or not position):
            before, after = " ".join(words[: position + 1]), " ".join(["", *words[position + 1 :]])
            return line if after.startswith(_GENERATED_MARK) else f"{before}{_GENERATED_MARK}{after}"
    return line


def with_notes(problem: NotFound, notes: Sequence[str]) -> NotFound:
    """Return an error with notes added to its hint."""
    # The notes may explain why the index does not contain the symbol that the error is about.
    return NotFound(problem.message, hint=" ".join(filter(None, [problem.hint, *notes])))


def truncation_line(shown: int, listed: int, total: int, noun: str) -> str:
    """Return the first line of a truncated answer.

    `listed` of `total` results are within the requested limit, and `shown` of them fit the token budget.
    """
    how = "the token budget is full; narrow the query" if shown < listed else "increase limit for more"
    return truncated(shown, total, noun, how)
