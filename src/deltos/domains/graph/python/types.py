"""Inferred types, and the values of which a type consists.

A type is a tuple of alternative values; an empty tuple means that the type is unknown. A type variable has the types of
its bound.
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

if TYPE_CHECKING:
    from collections.abc import Iterable

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

    __slots__ = ("_hash", "arguments", "contains_self", "depth", "name")

    def __init__(self, name: str, arguments: tuple[Types, ...]) -> None:
        self.name = name
        self.arguments = tuple([_limit_depth(part) for part in arguments])
        parts = [value for part in self.arguments for value in part]
        self.depth: int = 1 + max([value.depth for value in parts if type(value) is BuiltinObject], default=0)
        self.contains_self = any(map(contains_self, parts))
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
class CallableReturning:
    """A callable whose result has a known type for any arguments."""

    result: Types


Value = (
    ModuleInfo | ClassInfo | FunctionInfo | External | Instance | NamespaceFolder | SelfType | BoundMethod | SuperOf
    | BuiltinObject | BuiltinMethod | CallableReturning
)  # fmt: skip
Types = tuple[Value, ...]

UNKNOWN: Types = ()


def contains_self(value: Value) -> bool:
    """Whether a value contains `Self`, which must be replaced when the value is used."""
    if type(value) is SelfType:
        return True
    if type(value) is BuiltinObject:
        return value.contains_self
    if type(value) is CallableReturning:
        return any(map(contains_self, value.result))
    return type(value) is BoundMethod and contains_self(value.receiver)


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


def replace_self(types: Types, receiver: Value) -> Types:
    """Replace `Self` in types by the receiver."""
    return union([_replace_in_value(value, receiver) for value in types]) if any(map(contains_self, types)) else types


def _replace_in_value(value: Value, receiver: Value) -> Types:
    """Replace `Self` in a single value."""
    match value:
        case SelfType():
            return (_as_receiver(value, receiver),)
        case BuiltinObject(contains_self=True):
            return (BuiltinObject(value.name, tuple([replace_self(part, receiver) for part in value.arguments])),)
        case CallableReturning():
            return (CallableReturning(replace_self(value.result, receiver)),)
        case BoundMethod(receiver=SelfType() as own):
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
