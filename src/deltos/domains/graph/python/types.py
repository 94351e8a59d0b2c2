"""Inferred types, and the values of which a type consists.

A type is a tuple of alternative values; an empty tuple means that the type is unknown. Type variables in types are
solved from the arguments of a call and replaced.
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

MAX_UNION_SIZE = 24
"""Maximum number of alternatives in a union; a larger union is unknown."""

MAX_CONTAINER_DEPTH = 4  # maximum nesting of built-in containers; deeper containers are dropped


@dataclass(frozen=True, slots=True)
class SelfType:
    """The type `Self`: an instance of `info` or of a subclass, or the class object itself if `is_class` is true."""

    info: ClassInfo
    is_class: bool


@dataclass(frozen=True, slots=True)
class BoundMethod:
    """A method together with the instance or class on which it was accessed."""

    function: FunctionInfo
    receiver: Value


@dataclass(frozen=True, slots=True)
class SuperOf:
    """The result of `super()` in a method of the class `info`."""

    info: ClassInfo
    receiver: Value


class BuiltinObject:
    """An instance of a built-in or standard-library generic class, such as `list`, `dict`, `tuple` or `coroutine`.

    The nesting depth of containers is limited, because recursive functions could nest them indefinitely.
    """

    __slots__ = ("_hash", "arguments", "depth", "is_generic", "name")

    def __init__(self, name: str, arguments: tuple[Types, ...]) -> None:
        self.name = name
        self.arguments = tuple([_limit_depth(part) for part in arguments])
        parts = [value for part in self.arguments for value in part]
        self.depth: int = 1 + max([value.depth for value in parts if type(value) is BuiltinObject], default=0)
        self.is_generic = any(map(is_generic, parts))
        self._hash = hash((name, self.arguments))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is BuiltinObject
            and self._hash == other._hash
            and self.name == other.name
            and self.arguments == other.arguments
        )

    def __hash__(self) -> int:
        return self._hash


def _limit_depth(types: Types) -> Types:
    """Drop the containers that are nested deeper than the limit."""
    for value in types:
        if type(value) is BuiltinObject and value.depth >= MAX_CONTAINER_DEPTH:
            return tuple(
                [value for value in types if type(value) is not BuiltinObject or value.depth < MAX_CONTAINER_DEPTH]
            )
    return types


@dataclass(frozen=True, slots=True)
class BuiltinMethod:
    """A method of a builtin object, such as `items` of a `dict`."""

    receiver: BuiltinObject
    name: str


@dataclass(frozen=True, slots=True)
class TypeVariable:
    """A type variable, which is replaced when a generic function is called or a generic class is used."""

    path: str
    key: str


@dataclass(frozen=True, slots=True)
class CallableReturning:
    """A callable whose result has a known type for any arguments."""

    result: Types


Value = (
    ModuleInfo | ClassInfo | FunctionInfo | External | Instance | NamespaceFolder | SelfType | BoundMethod | SuperOf
    | BuiltinObject | BuiltinMethod | TypeVariable | CallableReturning
)  # fmt: skip
Types = tuple[Value, ...]

UNKNOWN: Types = ()


def is_generic(value: Value) -> bool:
    """Whether a value contains a type variable or `Self`, which must be replaced when the value is used."""
    if type(value) is TypeVariable or type(value) is SelfType:
        return True
    if type(value) is BuiltinObject:
        return value.is_generic
    if type(value) is Instance:
        return any(is_generic(part) for types in value.arguments for part in types)
    if type(value) is CallableReturning:
        return any(map(is_generic, value.result))
    return type(value) is BoundMethod and is_generic(value.receiver)


def union(parts: Iterable[Types]) -> Types:
    """Return the union of types, or `UNKNOWN` if it has too many alternatives."""
    merged: dict[Value, None] = {}
    for part in parts:
        for value in part:
            merged[value] = None
    return tuple(merged) if len(merged) <= MAX_UNION_SIZE else UNKNOWN


def union_of_two(first: Types, second: Types) -> Types:
    """Return the union of two types."""
    if not second or first == second:
        return first
    if not first:
        return second
    return union((first, second))


# --- type variables

Solution = dict[TypeVariable, Types]


def contains_variable(types: Types) -> bool:
    """Whether a type contains a type variable or `Self`."""
    return any(map(is_generic, types))


def substitute(types: Types, solution: Mapping[TypeVariable, Types], receiver: Value | None = None) -> Types:
    """Replace type variables by their solution and `Self` by the receiver."""
    return union([_substitute_in_value(value, solution, receiver) for value in types])


def _substitute_in_value(value: Value, solution: Mapping[TypeVariable, Types], receiver: Value | None) -> Types:
    """Replace type variables and `Self` in a single value."""
    match value:
        case TypeVariable():
            return solution.get(value, (value,))
        case SelfType() if receiver is not None:
            return (_as_receiver(value, receiver),)
        case BuiltinObject():
            if not value.is_generic:
                return (value,)
            return (
                BuiltinObject(value.name, tuple([substitute(part, solution, receiver) for part in value.arguments])),
            )
        case Instance(arguments=arguments) if arguments:
            return (Instance(value.info, tuple([substitute(part, solution, receiver) for part in arguments])),)
        case CallableReturning():
            return (CallableReturning(substitute(value.result, solution, receiver)),)
        case BoundMethod(receiver=SelfType() as own) if receiver is not None:
            return (BoundMethod(value.function, _as_receiver(own, receiver)),)
        case _:
            return (value,)


def _as_receiver(value: SelfType, receiver: Value) -> Value:
    """Replace `Self` by the instance or class on which a method was accessed."""
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
    """Infer a function's type variables from the types of the arguments in a call."""
    solution: Solution = {}
    offset = 1 if receiver is not None else 0
    for index, formal in enumerate(function.parameters):
        if formal.annotation is None:
            continue
        if index < offset:
            given: Types = (receiver,) if receiver is not None else UNKNOWN
        elif formal.kind == POSITIONAL and index - offset < len(arguments.nodes):
            given = arguments.positional_types(index - offset)
        else:
            given = arguments.keyword_types(formal.name)
        match_types(parameter(function, index), given, solution)
    return solution


def match_types(declared: Types, given: Types, solution: Solution) -> None:
    """Add the types that the type variables in `declared` have in `given` to `solution`."""
    for value in declared:
        match value:
            case TypeVariable():
                solution[value] = union((solution.get(value, UNKNOWN), given))
            case BuiltinObject(name="class"):
                match_types(value.arguments[0], _objects_of(given), solution)
            case BuiltinObject():
                for other in given:
                    if type(other) is BuiltinObject and len(other.arguments) == len(value.arguments):
                        for part, actual in zip(value.arguments, other.arguments, strict=True):
                            match_types(part, actual, solution)


def _objects_of(given: Types) -> Types:
    """Return an instance of each class in a type."""
    return tuple([value.instance for value in given if type(value) is ClassInfo])
