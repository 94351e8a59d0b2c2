"""State at the current point of an interpreted body: names, narrowed attributes, and enclosing scopes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.python.types import UNKNOWN, BuiltinObject, SuperOf, Types, union, union_of_two

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from deltos.domains.graph.python.entities import ClassInfo, Entity, FunctionInfo, ModuleInfo
    from deltos.domains.graph.python.infer import Inference

Environment = dict[str, Types]


class Frame:
    """A module, class body or function that is interpreted."""

    __slots__ = (
        "assigned", "declared", "defined", "environment", "everything", "function", "local", "narrowed", "outer",
        "owner", "parameters",
    )  # fmt: skip

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
        """Set the types of a name for the following code; nested functions see the union of all its types."""
        self.environment[name] = types
        self.everything[name] = union_of_two(self.everything.get(name, ()), types)

    def definition(self, name: str) -> tuple[Entity, ...]:
        """Return the definition or import that a name is bound to in this frame."""
        entity = self.defined.get(name)
        return () if entity is None else (entity,)

    def in_function(self) -> bool:
        """Whether the frame's code runs only when a function is called."""
        frame: Frame | None = self
        while frame is not None:
            if frame.function is not None:
                return True
            frame = frame.outer
        return False


def merge_environments(environments: Sequence[Environment], assigned: AbstractSet[str]) -> Environment:
    """Return the types of names where several control paths meet.

    A name that the function assigns may be unbound on a path. For other names, a missing entry means that the path does
    not narrow the name, and only narrowings that exist on all paths are kept.
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
                result[name] = union_of_two(known, types)
    return result


class Frames:
    """The current point of an interpreted body; implements `evaluate.Position`."""

    def __init__(self, inference: Inference, module: ModuleInfo) -> None:
        self.frame = Frame(None)
        self._inference = inference
        self._module = module

    def lookup(self, name: str) -> tuple[Sequence[Entity], Types | None]:
        """Look up a name in the current frame, its enclosing functions, the module, and builtins."""
        frame = self.frame
        types = frame.environment.get(name)
        if name in frame.local:
            return frame.definition(name), self._local_types(frame, name) if types is None else types
        if frame.owner is not None and name in frame.owner.bindings:
            return self._inference.own_member(frame.owner, name), types
        outer = frame.outer
        while outer is not None:
            if name in outer.local and outer.owner is None:
                return outer.definition(name), self._outer_types(outer, name) if types is None else types
            outer = outer.outer
        return self._inference.names.name_in(self._module, name), types

    def _local_types(self, frame: Frame, name: str) -> Types:
        """Return the types of a local name that has not been assigned: the types of a parameter, or unknown."""
        index = frame.parameters.get(name)
        if index is None or frame.function is None:
            return UNKNOWN
        return self._inference.parameter(frame.function, index)

    def _outer_types(self, frame: Frame, name: str) -> Types:
        return union_of_two(self._local_types(frame, name), frame.everything.get(name, UNKNOWN))

    def self_type(self) -> Types:
        """Return unknown, because `Self` is only resolved in interfaces."""
        return UNKNOWN

    def super_of(self) -> Types:
        """Return the type of `super()` in the innermost enclosing method."""
        frame: Frame | None = self.frame
        while frame is not None and (frame.function is None or frame.function.owner is None):
            frame = frame.outer
        if frame is None or frame.function is None or frame.function.owner is None:
            return UNKNOWN
        owner = frame.function.owner
        return tuple([SuperOf(owner, value) for value in self._inference.receiver(frame.function)])

    def sent_types(self) -> Types:
        """Return the send type from the generator type that the function declares."""
        function = self.frame.function
        if function is None or function.returns is None:
            return UNKNOWN
        declared = self._inference.returned_types(function)
        return union(
            [value.arguments[1] for value in declared if type(value) is BuiltinObject and value.name == "generator"]
        )
