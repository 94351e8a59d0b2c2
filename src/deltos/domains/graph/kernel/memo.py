"""Remembers answers of inference, each with what it stood on, so that no answer depends on the order of questions.

There are two engines, because the readers bound recursion in two ways, and each engine gives other answers where a
question leads back to itself. Python's inference recurses with a limited depth ("fuel"): an answer that ran out of it
is kept for exactly that depth (`DepthMemo`). TypeScript's iterates to a fixed point, for its types are recursive as a
rule: an answer that rests on an unfinished one is tentative (`FixpointMemo`). One engine for both would change edges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

Answer = TypeVar("Answer")

FUEL = 12
"""How many steps of inference one answer may be built on."""

_CUT_SHORT = 1 << 20

Given = TypeVarTuple("Given")
Key = tuple[object, ...]


class DepthMemo:
    """Answers by key, each with the depth it needed; `dependencies` are, as bits, what the running one stands on."""

    def __init__(self) -> None:
        self.dependencies = 0
        self._fuel = FUEL
        self._needed = 0
        self._whole: dict[Key, tuple[object, int, int]] = {}
        self._sets: dict[int, int] = {}
        self._cut: dict[tuple[Key, int], tuple[object, int]] = {}

    def recall(self, key: Key, compute: Callable[[*Given], Answer], *arguments: *Given) -> Answer:
        """The remembered answer, or a new one; an empty tuple, whatever the type, where the depth is spent."""
        known = self._whole.get(key)
        if known is not None:
            answer, needed, dependencies = known
            if needed <= self._fuel:
                self.dependencies |= dependencies
                if needed > self._needed:
                    self._needed = needed
                return cast("Answer", answer)
        cut = self._cut.get((key, self._fuel))
        if cut is not None:
            self.dependencies |= cut[1]
            self._needed = _CUT_SHORT
            return cast("Answer", cut[0])
        if self._fuel == 0:
            self._needed = _CUT_SHORT
            return cast("Answer", ())
        return self._compute(key, compute, arguments)

    def _compute(self, key: Key, compute: Callable[[*Given], Answer], arguments: tuple[*Given]) -> Answer:
        outer_dependencies, outer_needed = self.dependencies, self._needed
        self.dependencies = self._needed = 0
        self._fuel -= 1
        answer = compute(*arguments)
        self._fuel += 1
        needed = self._needed + 1
        # Many answers stand on the same files: one number for all of them, for it has as many bits as there are files.
        dependencies = self._sets.setdefault(self.dependencies, self.dependencies)
        if needed < _CUT_SHORT:
            self._whole[key] = (answer, needed, dependencies)
        else:
            needed = _CUT_SHORT
            self._cut[(key, self._fuel)] = (answer, dependencies)
        self.dependencies |= outer_dependencies
        self._needed = max(outer_needed, needed)
        return answer


_MAX_ITERATIONS = 4
_MAX_OPEN = 45
_NEVER = 1_000_000


@dataclass(slots=True)
class _Open:
    """A question that is being answered."""

    depth: int
    provisional: object = None
    was_asked: bool = False
    dependencies: set[str] = field(default_factory=set)


class FixpointMemo:
    """Questions answered so far; those that lead back to themselves are answered by iteration."""

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
        if len(self._open) >= _MAX_OPEN:
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
