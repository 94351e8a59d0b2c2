"""Caches for type inference that store each answer with the dependencies of its computation.

There are two classes, because the resolvers limit recursion differently.

Python's inference has a maximum recursion depth. An answer that reached the maximum is cached only for the number of
levels that were left (`DepthMemo`).

TypeScript's inference repeats recursive computations until the answer no longer changes. An answer that depends on an
unfinished answer is tentative (`FixpointMemo`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Protocol, TypeVar, TypeVarTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

Answer = TypeVar("Answer")

FUEL = 12
"""Maximum depth of nested inference steps for one answer."""

_INCOMPLETE_DEPTH = 1 << 20  # marks an answer whose computation exceeded the maximum depth

Arguments = TypeVarTuple("Arguments")
Key = tuple[object, ...]


class DepthMemo:
    """Cache of answers by key, each with the recursion depth that its computation needed.

    `dependencies` is the bit set of the dependencies of the running computation.
    """

    def __init__(self) -> None:
        self.dependencies = 0
        self.fuel = FUEL
        self.needed = 0
        self.complete: dict[Key, tuple[object, int, int]] = {}
        self.incomplete: dict[tuple[Key, int], tuple[object, int]] = {}
        self._shared_sets: dict[int, int] = {}

    def compute(self, key: Key, method: Callable[[*Arguments], Answer], arguments: tuple[*Arguments]) -> Answer:
        """Compute an answer with one less level of recursion left, and cache it with its needed depth and dependencies.

        If no level is left, return an empty tuple.
        """
        if self.fuel == 0:
            self.needed = _INCOMPLETE_DEPTH
            return cast("Answer", ())
        outer_dependencies, outer_needed = self.dependencies, self.needed
        self.dependencies = self.needed = 0
        self.fuel -= 1
        answer = method(*arguments)
        self.fuel += 1
        needed = self.needed + 1
        # Answers with the same dependencies share one bit set, because a bit set is large: it has one bit per file.
        dependencies = self._shared_sets.setdefault(self.dependencies, self.dependencies)
        if needed < _INCOMPLETE_DEPTH:
            self.complete[key] = (answer, needed, dependencies)
        else:
            needed = _INCOMPLETE_DEPTH
            self.incomplete[(key, self.fuel)] = (answer, dependencies)
        self.dependencies |= outer_dependencies
        self.needed = max(outer_needed, needed)
        return answer


class _Inference(Protocol):
    """A class whose methods are memoized by a `DepthMemo`."""

    memo: DepthMemo


Inferring = TypeVar("Inferring", bound=_Inference)


def memoized(
    method: Callable[[Inferring, *Arguments], Answer],
) -> Callable[[Inferring, *Arguments], Answer]:
    """Cache the results of a method in the `memo` of the object on which it is called."""
    name = method.__name__

    @wraps(method)
    def recall(inference: Inferring, /, *arguments: *Arguments) -> Answer:
        memo, key = inference.memo, (name, *arguments)
        known = memo.complete.get(key)
        if known is not None and known[1] <= memo.fuel:
            answer, needed, dependencies = known
            memo.dependencies |= dependencies
            if needed > memo.needed:
                memo.needed = needed
            return cast("Answer", answer)
        incomplete = memo.incomplete.get((key, memo.fuel))
        if incomplete is not None:
            memo.dependencies |= incomplete[1]
            memo.needed = _INCOMPLETE_DEPTH
            return cast("Answer", incomplete[0])
        return memo.compute(key, method, (inference, *arguments))

    return recall


_MAX_ITERATIONS = 4  # maximum number of repetitions of a computation that depends on its own result
_MAX_NESTED_QUESTIONS = 45  # maximum number of computations that wait for each other
_NO_DEPTH = 1_000_000  # initial depth, greater than the depth of any question


@dataclass(slots=True)
class _RunningQuestion:
    """A question (key of an answer) whose answer is being computed."""

    depth: int
    provisional: object = None
    is_recursive: bool = False
    dependencies: set[str] = field(default_factory=set)


class FixpointMemo:
    """Cache of answers by question, which is any hashable key.

    Recursive questions are answered by iteration to a fixed point.
    """

    def __init__(self) -> None:
        self._answers: dict[Hashable, tuple[object, set[str]]] = {}
        self._open: dict[Hashable, _RunningQuestion] = {}
        self._tentative: list[Hashable] = []
        # Depth of the outermost unanswered question on which the current question depends
        self._lowest_depth = _NO_DEPTH
        self.dependencies: set[str] = set()
        self.is_exhausted = False  # whether a limit was exceeded; answers are then not cached

    @property
    def is_busy(self) -> bool:
        """Whether an answer is being computed."""
        return bool(self._open)

    def depend(self, path: str) -> None:
        """Add a file to the dependencies of the running computation."""
        self.dependencies.add(path)

    def depend_on_all(self, paths: Iterable[str]) -> None:
        """Add several files to the dependencies of the running computation."""
        self.dependencies.update(paths)

    def ask(self, question: Hashable, compute: Callable[[], Answer]) -> Answer:
        """Return the cached answer to a question, or compute and cache it.

        Return None if too many questions are nested, or if the question depends on itself and has no provisional
        answer.
        """
        known = self._answers.get(question)
        if known is not None:
            self.dependencies |= known[1]
            return cast("Answer", known[0])
        running = self._open.get(question)
        if running is not None:
            running.is_recursive = True
            self._lowest_depth = min(self._lowest_depth, running.depth)
            return cast("Answer", running.provisional)
        if len(self._open) >= _MAX_NESTED_QUESTIONS:
            self.is_exhausted = True
            return cast("Answer", None)
        return self._compute_answer(question, compute)

    def _compute_answer(self, question: Hashable, compute: Callable[[], Answer]) -> Answer:
        """Compute and cache an answer.

        If the question depends on itself, repeat the computation until the answer no longer changes.
        """
        state = _RunningQuestion(len(self._open))
        self._open[question] = state
        outer_dependencies, outer_lowest = self.dependencies, self._lowest_depth
        first_tentative = len(self._tentative)
        self.dependencies = state.dependencies
        self._lowest_depth = _NO_DEPTH
        answer = compute()
        for _ in range(_MAX_ITERATIONS):
            if not state.is_recursive or answer == state.provisional:
                break
            state.provisional = answer
            self._drop_tentative(first_tentative)
            answer = compute()
        del self._open[question]
        self._store_answer(question, answer, state, first_tentative)
        self._lowest_depth = min(outer_lowest, self._lowest_depth if self._lowest_depth < state.depth else _NO_DEPTH)
        self.dependencies = outer_dependencies
        self.dependencies |= state.dependencies
        return answer

    def _drop_tentative(self, first: int) -> None:
        """Drop the tentative answers at index `first` and later, which depend on a provisional answer."""
        for question in self._tentative[first:]:
            self._answers.pop(question, None)
        del self._tentative[first:]

    def _store_answer(self, question: Hashable, answer: object, state: _RunningQuestion, first: int) -> None:
        """Cache an answer; it is tentative if it depends on an outer question that is not answered yet."""
        if self.is_exhausted:
            return
        self._answers[question] = (answer, state.dependencies)
        if state.is_recursive:
            for other in self._tentative[first:]:
                self._answers[other][1].update(state.dependencies)
        if self._lowest_depth < state.depth:
            self._tentative.append(question)
        else:
            del self._tentative[first:]
