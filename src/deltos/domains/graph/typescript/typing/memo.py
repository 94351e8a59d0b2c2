"""Answers that are computed once and shared by all files, each with the files it depended on.

Questions that lead back to themselves are answered by iteration, so that it does not matter which of them was
asked first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

Answer = TypeVar("Answer")

_MAX_ITERATIONS = 4
_MAX_DEPTH = 45
_NEVER = 1_000_000


@dataclass(slots=True)
class _Open:
    """A question that is being answered."""

    depth: int
    provisional: object = None
    was_asked: bool = False
    dependencies: set[str] = field(default_factory=set)


class Memo:
    """Questions answered so far."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, tuple[object, set[str]]] = {}
        self._open: dict[Hashable, _Open] = {}
        self._tentative: list[Hashable] = []
        self._lowest = _NEVER  # depth of the outermost open question that the current one leads back to
        self.dependencies: set[str] = set()
        self.spoiled = False  # the computation ran out of steps: its answers hold for this once only

    @property
    def is_busy(self) -> bool:
        """Whether a question is being answered."""
        return bool(self._open)

    def depend(self, path: str) -> None:
        """Note that what is being computed depends on a file."""
        self.dependencies.add(path)

    def depend_on_all(self, paths: Iterable[str]) -> None:
        """Note that what is being computed depends on several files."""
        self.dependencies.update(paths)

    def ask(self, question: Hashable, compute: Callable[[], Answer]) -> Answer:
        """The answer to a question, computed at most a few times; None while it leads back to itself."""
        known = self._answers.get(question)
        if known is not None:
            self.dependencies |= known[1]
            return cast("Answer", known[0])
        running = self._open.get(question)
        if running is not None:
            running.was_asked = True
            self._lowest = min(self._lowest, running.depth)
            return cast("Answer", running.provisional)
        if len(self._open) >= _MAX_DEPTH:
            self.spoiled = True
            return cast("Answer", None)
        return self._answer(question, compute)

    def _answer(self, question: Hashable, compute: Callable[[], Answer]) -> Answer:
        state = _Open(len(self._open))
        self._open[question] = state
        outer_dependencies, outer_lowest = self.dependencies, self._lowest
        first_tentative = len(self._tentative)
        self.dependencies = state.dependencies
        self._lowest = _NEVER
        answer = compute()
        for _ in range(_MAX_ITERATIONS):
            if not state.was_asked or answer == state.provisional:
                break
            state.provisional = answer
            self._forget(first_tentative)
            answer = compute()
        del self._open[question]
        self._settle(question, answer, state, first_tentative)
        self._lowest = min(outer_lowest, self._lowest if self._lowest < state.depth else _NEVER)
        self.dependencies = outer_dependencies
        self.dependencies |= state.dependencies
        return answer

    def _forget(self, first: int) -> None:
        """Drop the answers that rested on a provisional one."""
        for question in self._tentative[first:]:
            self._answers.pop(question, None)
        del self._tentative[first:]

    def _settle(self, question: Hashable, answer: object, state: _Open, first: int) -> None:
        """Keep an answer: for good, or until the outer question it rests on changes its own."""
        if self.spoiled:
            return
        self._answers[question] = (answer, state.dependencies)
        if state.was_asked:
            for other in self._tentative[first:]:
                self._answers[other][1].update(state.dependencies)
        if self._lowest < state.depth:
            self._tentative.append(question)
        else:
            del self._tentative[first:]
