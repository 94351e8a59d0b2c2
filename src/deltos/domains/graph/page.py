"""Results of an answer on their way into the token budget: whole ones, and lines as long as all of them allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltos.budget import CHARACTERS_PER_TOKEN, characters_for, fit, shown_of
from deltos.errors import NotFound
from deltos.tool import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

# How long a line of source may be, from the longest to the shortest that still tells what stands there.
_GENERATED = " (generated)"
WIDTHS = (160, 120, 90, 70, 50, 36)


class Piece(NamedTuple):
    """A part of an answer that is shown whole or not at all, and how many results it holds."""

    text: str
    results: int = 1


class BudgetedLines:
    """Fits the pieces of an answer into its budget."""

    def __init__(
        self, *, token_budget: int, notes: Sequence[str] = (), generated: Collection[str] = frozenset()
    ) -> None:
        self._characters = characters_for(token_budget)
        self._notes = tuple(notes)
        self._generated = generated

    def answer(self, header: Callable[[int], str], pieces: Sequence[Piece], *, last: str = "") -> Answer:
        """As many pieces as fit, under a header that is told how many results those hold; files that a tool wrote are
        marked."""
        pieces = self._marked(pieces)
        fitted = fit([piece.text for piece in pieces], characters=self._room(header, last))
        shown = sum(piece.results for piece in pieces[: len(fitted.pieces)])
        text = "\n".join([self._mark(header(shown)), *self._notes, *fitted.pieces, *([last] if last else [])])
        return Answer(text, truncated=fitted.truncated, original_characters=fitted.original_characters)

    def widest(self, header: Callable[[int], str], make: Callable[[int], Sequence[Piece]], *, last: str = "") -> Answer:
        """The same with the longest lines with which all pieces fit; `make` gives pieces for a length of lines."""
        room = self._room(header, last)
        pieces: Sequence[Piece] = ()
        for characters in WIDTHS:
            pieces = self._marked(make(characters))
            if sum(len(piece.text) + 1 for piece in pieces) <= room + 1:
                break
        return self.answer(header, pieces, last=last)

    def noted(self, note: str) -> BudgetedLines:
        """The same with another note; with an empty one, the same."""
        if not note:
            return self
        tokens = self._characters // CHARACTERS_PER_TOKEN
        return BudgetedLines(token_budget=tokens, notes=(*self._notes, note), generated=self._generated)

    def within(self, tokens: int) -> BudgetedLines:
        """The same with a smaller budget."""
        room = min(tokens, self._characters // CHARACTERS_PER_TOKEN)
        return BudgetedLines(token_budget=room, notes=self._notes, generated=self._generated)

    def parted(self, number: int, *, reserved: int) -> list[BudgetedLines]:
        """As many equal parts of the budget, without the characters that are reserved; notes are told in the first."""
        tokens = max(1, (self._characters - reserved) // CHARACTERS_PER_TOKEN // number)
        return [
            BudgetedLines(token_budget=tokens, notes=() if part else self._notes, generated=self._generated)
            for part in range(number)
        ]

    def fitting(self, header: Callable[[int], str], pieces: Sequence[Piece]) -> int:
        """How many of the pieces fit."""
        return len(fit([piece.text for piece in pieces], characters=self._room(header, "")).pieces)

    def _room(self, header: Callable[[int], str], last: str) -> int:
        """What is left for pieces; the header that tells of a cut is the longer one."""
        around = [header(0), *self._notes, *([last] if last else [])]
        return self._characters - sum(len(line) + 1 for line in around)

    def _marked(self, pieces: Sequence[Piece]) -> Sequence[Piece]:
        if not self._generated:
            return pieces
        return [piece._replace(text=self._mark(piece.text)) for piece in pieces]

    def _mark(self, text: str) -> str:
        if not self._generated:
            return text
        return "\n".join(self._mark_line(line) for line in text.split("\n"))

    def _mark_line(self, line: str) -> str:
        """A line that names a file which a tool wrote: alone, first, or with the lines of a definition in it."""
        if line in self._generated:
            return line + _GENERATED
        words = line.split(" ", 3)
        for place, word in enumerate(words[:3]):
            path, colon, _ = word.partition(":")
            if path in self._generated and (colon or not place):
                before, after = " ".join(words[: place + 1]), " ".join(["", *words[place + 1 :]])
                return line if after.startswith(_GENERATED) else f"{before}{_GENERATED}{after}"
        return line


def with_notes(problem: NotFound, notes: Sequence[str]) -> NotFound:
    """An error that tells what an answer would have told: what is not found may only be missing from the index."""
    return NotFound(problem.message, hint=" ".join(filter(None, [problem.hint, *notes])))


def cut_line(shown: int, listed: int, total: int, noun: str) -> str:
    """How much is shown of how much, and why not all: what the limit lists may not fit the budget."""
    how = "the token budget is full: narrow the question" if shown < listed else "increase limit for more"
    return shown_of(shown, total, noun, how)
