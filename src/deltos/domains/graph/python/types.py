"""What an expression may evaluate to. A type is a tuple of such values, one for each alternative; empty is unknown.

Type variables are found in types, solved from the arguments of a call, and replaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.python.entities import (
    ClassInfo,
    External,
    FunctionInfo,
    Instance,
    ModuleInfo,
    NamespaceFolder,
)
from deltos.domains.graph.python.nodes import POSITIONAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from deltos.domains.graph.python.evaluate import CallArguments

WIDEST_UNION = 24
"""A name that may be more things than this tells nothing."""

DEEPEST_CONTAINER = 4


@dataclass(frozen=True, slots=True)
class SelfType:
    """The receiver of a method, whose class may be a subclass of `info`; as `cls` when `is_class`."""

    info: ClassInfo
    is_class: bool


@dataclass(frozen=True, slots=True)
class Bound:
    """A method together with the object or class that it was looked up on."""

    function: FunctionInfo
    receiver: Value


@dataclass(frozen=True, slots=True)
class SuperOf:
    """`super()` inside a method of `info`."""

    info: ClassInfo
    receiver: Value


class Known:
    """An object of a builtin or standard class that matters for types: `list`, `dict`, `tuple`, `coroutine` …

    Containers of containers are kept to a small depth: recursive functions would nest them without end.
    """

    __slots__ = ("_hash", "arguments", "depth", "is_open", "name")

    def __init__(self, name: str, arguments: tuple[Types, ...]) -> None:
        self.name = name
        self.arguments = tuple([_shallow(part) for part in arguments])
        parts = [value for part in self.arguments for value in part]
        self.depth: int = 1 + max([value.depth for value in parts if type(value) is Known], default=0)
        self.is_open = any(map(is_open, parts))
        self._hash = hash((name, self.arguments))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is Known
            and self._hash == other._hash
            and self.name == other.name
            and self.arguments == other.arguments
        )

    def __hash__(self) -> int:
        return self._hash


def _shallow(types: Types) -> Types:
    for value in types:
        if type(value) is Known and value.depth >= DEEPEST_CONTAINER:
            return tuple([value for value in types if type(value) is not Known or value.depth < DEEPEST_CONTAINER])
    return types


@dataclass(frozen=True, slots=True)
class KnownMethod:
    """A method of such an object: `items` of a `dict`."""

    receiver: Known
    name: str


@dataclass(frozen=True, slots=True)
class TypeVariable:
    """A type parameter, replaced when a generic function is called or a generic class is used."""

    path: str
    key: str


@dataclass(frozen=True, slots=True)
class Partial:
    """A callable that gives a known type, whatever its arguments."""

    result: Types


Value = (
    ModuleInfo | ClassInfo | FunctionInfo | External | Instance | NamespaceFolder | SelfType | Bound | SuperOf | Known
    | KnownMethod | TypeVariable | Partial
)  # fmt: skip
Types = tuple[Value, ...]

UNKNOWN: Types = ()


def is_open(value: Value) -> bool:
    """Whether a type variable or `Self` stands in a value, to be replaced by what it is used with."""
    if type(value) is TypeVariable or type(value) is SelfType:
        return True
    if type(value) is Known:
        return value.is_open
    if type(value) is Instance:
        return any(is_open(part) for types in value.arguments for part in types)
    if type(value) is Partial:
        return any(map(is_open, value.result))
    return type(value) is Bound and is_open(value.receiver)


def union(parts: Iterable[Types]) -> Types:
    """Everything that any of the parts may be; unknown when that is too much."""
    merged: dict[Value, None] = {}
    for part in parts:
        for value in part:
            merged[value] = None
    return tuple(merged) if len(merged) <= WIDEST_UNION else UNKNOWN


def either(first: Types, second: Types) -> Types:
    """The union of two types."""
    if not second or first == second:
        return first
    if not first:
        return second
    return union((first, second))


# --- type variables

Solution = dict[TypeVariable, Types]


def contains_variable(types: Types) -> bool:
    """Whether any type variable, or `Self`, stands in a type."""
    return any(map(is_open, types))


def substitute(types: Types, solution: Mapping[TypeVariable, Types], receiver: Value | None = None) -> Types:
    """Replace type variables by their solution and `Self` by the receiver."""
    return union([_replaced(value, solution, receiver) for value in types])


def _replaced(value: Value, solution: Mapping[TypeVariable, Types], receiver: Value | None) -> Types:
    match value:
        case TypeVariable():
            return solution.get(value, (value,))
        case SelfType() if receiver is not None:
            return (_as_receiver(value, receiver),)
        case Known():
            if not value.is_open:
                return (value,)
            return (Known(value.name, tuple([substitute(part, solution, receiver) for part in value.arguments])),)
        case Instance(arguments=arguments) if arguments:
            return (Instance(value.info, tuple([substitute(part, solution, receiver) for part in arguments])),)
        case Partial():
            return (Partial(substitute(value.result, solution, receiver)),)
        case Bound(receiver=SelfType() as own) if receiver is not None:
            return (Bound(value.function, _as_receiver(own, receiver)),)
        case _:
            return (value,)


def _as_receiver(value: SelfType, receiver: Value) -> Value:
    match receiver:
        case Instance():
            return receiver.info if value.is_class else receiver
        case ClassInfo():
            return receiver if value.is_class else receiver.instance
        case SelfType():
            return SelfType(receiver.info, is_class=value.is_class)
        case _:
            return value


def solve(
    function: FunctionInfo,
    receiver: Value | None,
    arguments: CallArguments,
    parameter: Callable[[FunctionInfo, int], Types],
) -> Solution:
    """What the arguments say about the type variables of a function's parameters."""
    solution: Solution = {}
    offset = 1 if receiver is not None else 0
    for index, formal in enumerate(function.parameters):
        if formal.annotation is None:
            continue
        if index < offset:
            given: Types = (receiver,) if receiver is not None else UNKNOWN
        elif formal.kind == POSITIONAL and index - offset < len(arguments.nodes):
            given = arguments.positional(index - offset)
        else:
            given = arguments.keyword(formal.name)
        match_types(parameter(function, index), given, solution)
    return solution


def match_types(declared: Types, given: Types, solution: Solution) -> None:
    """Bind the variables in a declared type to what stands at their place in the given one."""
    for value in declared:
        match value:
            case TypeVariable():
                solution[value] = union((solution.get(value, UNKNOWN), given))
            case Known(name="class"):
                match_types(value.arguments[0], _objects_of(given), solution)
            case Known():
                for other in given:
                    if type(other) is Known and len(other.arguments) == len(value.arguments):
                        for part, actual in zip(value.arguments, other.arguments, strict=True):
                            match_types(part, actual, solution)


def _objects_of(given: Types) -> Types:
    return tuple([value.instance for value in given if type(value) is ClassInfo])
