"""What is known at one point of a running body: names, narrowed attributes, and the scopes around."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.python.values import Types, either

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from deltos.domains.graph.python.entities import ClassInfo, Entity, FunctionInfo

Environment = dict[str, Types]


class Frame:
    """A module, class body or function that is being run."""

    __slots__ = (
        "assigned",
        "declared", "defined", "environment", "everything", "function", "local", "narrowed", "outer",
                 "owner", "parameters")  # fmt: skip

    def __init__(
        self,
        outer: Frame | None,
        *,
        function: FunctionInfo | None = None,
        owner: ClassInfo | None = None,
        local: AbstractSet[str] = frozenset(),
    ) -> None:
        self.outer = outer
        self.function = function
        self.owner = owner
        self.local = local
        self.environment: Environment = {}
        self.everything: Environment = {}
        self.declared: Environment = {}
        self.defined: dict[str, Entity] = {}
        self.narrowed: set[str] = set()
        self.parameters: dict[str, int] = {}
        self.assigned: AbstractSet[str] = frozenset()

    def bind(self, name: str, types: Types) -> None:
        """Let a name be this from here on; functions inside see the union of all it was."""
        self.environment[name] = types
        self.everything[name] = either(self.everything.get(name, ()), types)

    def in_function(self) -> bool:
        """Whether this code runs only when a function is called."""
        frame: Frame | None = self
        while frame is not None:
            if frame.function is not None:
                return True
            frame = frame.outer
        return False


def merged(environments: Sequence[Environment], assigned: AbstractSet[str]) -> Environment:
    """What names may be where several paths meet.

    A name that the function assigns is unbound where a path lacks it; for any other, what a path lacks is a narrowing,
    and one that not every path has is void.
    """
    first, *rest = environments
    if not rest:
        return first
    result = dict(first)
    for other in rest:
        for name in result.keys() - other.keys():
            if name not in assigned:
                del result[name]
        for name, types in other.items():
            known = result.get(name)
            if known is None:
                if name in assigned:
                    result[name] = types
            elif known is not types:
                result[name] = either(known, types)
    return result
