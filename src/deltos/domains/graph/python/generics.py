"""Type variables: find them in types, solve them from the arguments of a call, and replace them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.python.entities import ClassInfo, Instance
from deltos.domains.graph.python.nodes import POSITIONAL
from deltos.domains.graph.python.values import (
    UNKNOWN,
    Bound,
    Known,
    Partial,
    SelfType,
    Types,
    TypeVariable,
    is_open,
    union,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deltos.domains.graph.python.entities import FunctionInfo
    from deltos.domains.graph.python.evaluate import Arguments
    from deltos.domains.graph.python.values import Value

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
    arguments: Arguments,
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
