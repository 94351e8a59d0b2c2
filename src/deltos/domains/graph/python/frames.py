"""Types of names and attributes at the statement that is being analysed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.domains.graph.python.types import UNKNOWN, BuiltinObject, SuperOf, Types, union, union_of_two

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from deltos.domains.graph.python.entities import ClassInfo, Entity, FunctionInfo, ModuleInfo
    from deltos.domains.graph.python.infer import Inference

Environment = dict[str, Types]


@dataclass(slots=True, eq=False)
class Frame:
    """Names and their current types in the module, class body or function that is being analysed."""

    outer: Frame | None
    function: FunctionInfo | None = None
    owner: ClassInfo | None = None
    local: AbstractSet[str] = frozenset()
    environment: Environment = field(default_factory=dict)
    all_types: Environment = field(default_factory=dict)
    declared: Environment = field(default_factory=dict)
    defined: dict[str, Entity] = field(default_factory=dict)
    narrowed: set[str] = field(default_factory=set)
    parameters: dict[str, int] = field(default_factory=dict)
    assigned: AbstractSet[str] = frozenset()

    def bind(self, name: str, types: Types) -> None:
        """Set the types of a name for the following statements, and add them to the types that nested functions see."""
        self.environment[name] = types
        self.all_types[name] = union_of_two(self.all_types.get(name, ()), types)

    def definition(self, name: str) -> tuple[Entity, ...]:
        """Return the definition or import bound to a name in this frame, or an empty tuple."""
        entity = self.defined.get(name)
        return () if entity is None else (entity,)

    def is_in_function(self) -> bool:
        """Whether the frame's code runs only when a function is called."""
        frame: Frame | None = self
        while frame is not None:
            if frame.function is not None:
                return True
            frame = frame.outer
        return False


def merge_environments(environments: Sequence[Environment], assigned: AbstractSet[str]) -> Environment:
    """Merge the types of names at a point where several control paths meet.

    A name in `assigned` gets the types from every path. Any other name stays narrowed only if it is narrowed on all
    paths.
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
    """Stack of frames that implements `evaluate.Position` for the frame that is being analysed."""

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
            return self._inference.find_own_member(frame.owner, name), types
        outer = frame.outer
        while outer is not None:
            if name in outer.local and outer.owner is None:
                return outer.definition(name), self._outer_types(outer, name) if types is None else types
            outer = outer.outer
        return self._inference.names.name_in(self._module, name), types

    def _local_types(self, frame: Frame, name: str) -> Types:
        """Return the types of a parameter, or `UNKNOWN` for other local names."""
        index = frame.parameters.get(name)
        if index is None or frame.function is None:
            return UNKNOWN
        return self._inference.parameter_types(frame.function, index)

    def _outer_types(self, frame: Frame, name: str) -> Types:
        """Return all types that an enclosing function assigns to a name."""
        return union_of_two(self._local_types(frame, name), frame.all_types.get(name, UNKNOWN))

    def self_type(self) -> Types:
        """Return `UNKNOWN`, because only `InterfacePosition` resolves `Self`."""
        return UNKNOWN

    def super_types(self) -> Types:
        """Return the type of `super()` in the innermost enclosing method."""
        frame: Frame | None = self.frame
        while frame is not None and (frame.function is None or frame.function.owner is None):
            frame = frame.outer
        if frame is None or frame.function is None or frame.function.owner is None:
            return UNKNOWN
        owner = frame.function.owner
        return tuple([SuperOf(owner, value) for value in self._inference.receiver_types(frame.function)])

    def sent_types(self) -> Types:
        """Return the type `Sent` if the declared return type is, for example, `Generator[Item, Sent, Result]`."""
        function = self.frame.function
        if function is None or function.returns is None:
            return UNKNOWN
        declared = self._inference.returned_types(function)
        return union(
            [value.arguments[1] for value in declared if type(value) is BuiltinObject and value.name == "generator"]
        )
