"""Remembers answers of inference: each with the depth it needed and the files it read.

Inference recurses on demand with a limited depth ("fuel"). An answer that ran out of depth is kept for exactly that
depth only. So no answer depends on the order of questions, and re-resolving one file gives what resolving all of them
would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, TypeVarTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.graph.python.entities import ModuleInfo

FUEL = 12
"""How many steps of inference one answer may be built on."""

_CUT_SHORT = 1 << 20

Answer = TypeVar("Answer")
Given = TypeVarTuple("Given")
Key = tuple[object, ...]


class Memo:
    """Answers by key. `dependencies` is the set, as bits, of what the running answer stands on."""

    def __init__(self) -> None:
        self.dependencies = 0
        self._fuel = FUEL
        self._needed = 0
        self._whole: dict[Key, tuple[object, int, int]] = {}
        self._sets: dict[int, int] = {}
        self._cut: dict[tuple[Key, int], tuple[object, int]] = {}

    def read(self, module: ModuleInfo) -> None:
        """Note that the running answer depends on a file."""
        self.dependencies |= module.bit

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
