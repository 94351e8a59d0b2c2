"""Infer the result types of calls, the types of parameters, and the types of items.

A type parameter is replaced by the type argument of the call or by the parameter's default or constraint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from deltos.domains.graph.typescript import nodes, types
from deltos.domains.graph.typescript.check.members import (
    ancestors,
    bases,
    find_members,
    index_type,
    instance_type_of_class,
    promise_type,
    type_environment,
)
from deltos.domains.graph.typescript.types import union_of

if TYPE_CHECKING:
    from deltos.domains.graph.typescript.check.checker import Checker
    from deltos.domains.graph.typescript.modules.module import Module
    from deltos.domains.graph.typescript.nodes import Term
    from deltos.domains.graph.typescript.types import Environment, Type

_MAX_CALLBACK_OVERLOADS = 3  # maximum number of overloads from which the type of a callback's parameter is inferred
_MAX_INDEXED_MEMBERS = 30  # maximum number of members whose types are combined for `object[key]` if the key is unknown
_LIBRARY_ITERABLES = frozenset(
    (
        "Array ReadonlyArray ArrayLike Set ReadonlySet Iterable Iterator IterableIterator Generator AsyncIterable "
        "AsyncGenerator AsyncIterableIterator"
    ).split()
)


class TypeArguments(Struct, frozen=True):
    """Type arguments of a call, as type expressions of the calling module."""

    module: Module
    terms: tuple[Term, ...]
    environment: Environment | None


def signatures(checker: Checker, callee: Type | None) -> list[types.FunctionType]:
    """Return the signatures of a callable type."""
    if type(callee) is types.FunctionType:
        return [callee]
    if type(callee) is types.OverloadedType:
        return _function_types(callee.module, callee.term.terms, callee.environment)
    if type(callee) is types.ObjectType:
        return _function_types(callee.module, callee.term.calls, callee.environment)
    if type(callee) is types.InstanceType:
        return _instance_signatures(checker, callee)
    if type(callee) is types.StaticType:
        return _static_signatures(checker, callee)
    if type(callee) is types.UnboundTypeParameter:
        return signatures(checker, callee.bound)
    if type(callee) is types.IntersectionType:
        return [each for part in callee.parts for each in signatures(checker, part)]
    if type(callee) is types.UnionType:
        return [each for part in callee.options for each in signatures(checker, part)]
    return []


def _function_types(
    module: Module, terms: tuple[Term, ...], environment: Environment | None = None
) -> list[types.FunctionType]:
    """Return the function type of each type expression that is a function."""
    return [types.FunctionType(module, term, environment) for term in terms if isinstance(term, nodes.FunctionTerm)]


def _instance_signatures(checker: Checker, callee: types.InstanceType) -> list[types.FunctionType]:
    """Return the call signatures of an interface or, if it has none, of its base types."""
    found: list[types.FunctionType] = []
    declared = callee.declared
    for part in declared.parts:
        if isinstance(part, nodes.InterfaceDeclaration) and part.calls:
            environment = type_environment(checker, declared, part, callee.arguments)
            found += _function_types(declared.module, part.calls, environment)
    return found or [each for base in bases(checker, callee) for each in signatures(checker, base)]


def _static_signatures(checker: Checker, callee: types.StaticType) -> list[types.FunctionType]:
    """Return the signatures of a function that also has members."""
    found: list[types.FunctionType] = []
    for part in callee.declared.parts:
        if isinstance(part, nodes.ValueDeclaration):
            value = checker.type_of(callee.declared.module, part.term)
            if type(value) is not types.StaticType:
                found += signatures(checker, value)
    return found


def call_type(checker: Checker, callee: Type | None, given: TypeArguments) -> Type | None:
    """Return the result type of a call, assuming that the first signature applies."""
    if type(callee) is types.UnionType:
        return union_of([call_type(checker, option, given) for option in callee.options])
    options = signatures(checker, callee)
    return return_type(checker, options[0], instantiate(checker, options[0], given)) if options else None


def instantiate(checker: Checker, function: types.FunctionType, given: TypeArguments) -> Environment | None:
    """Return the types of a function's type parameters for one call, including the outer type parameters in scope."""
    parameters = function.term.type_parameters
    if not parameters:
        return function.environment
    pairs = zip(parameters, given.terms, strict=False)
    bound: Environment = dict(function.environment or {})
    found = {parameter.name: checker.type_of(given.module, term, given.environment) for parameter, term in pairs}
    for parameter in parameters:
        if found.get(parameter.name) is None:
            fallback = parameter.default if parameter.default is not None else parameter.constraint
            found[parameter.name] = checker.type_of(function.module, fallback, {**bound, **found})
    return bound | found


def return_type(checker: Checker, function: types.FunctionType, environment: Environment | None) -> Type | None:
    """Return the type that a function returns, given the types of its type parameters."""
    term = function.term
    if term.result is not None:
        return checker.type_of(function.module, term.result, environment)
    if not term.returned or term.flags & nodes.IS_GENERATOR:
        return None

    def compute() -> Type | None:
        return union_of([checker.type_of(function.module, value, environment) for value in term.returned])

    found = checker.memo.ask(("returned", function), compute) if environment is None else compute()
    return promise_type(checker, found) if term.flags & nodes.IS_ASYNC else found


def constructed_type(checker: Checker, callee: Type | None, given: TypeArguments) -> Type | None:
    """Return the type of the object that `new callee(…)` creates."""
    if type(callee) is types.UnionType:
        return union_of([constructed_type(checker, option, given) for option in callee.options])
    if type(callee) is types.StaticType:
        return _construct_class(checker, callee, given)
    if type(callee) is types.IntersectionType:
        return instance_type_of_class(callee)
    return call_type(checker, callee, given)


def _construct_class(checker: Checker, callee: types.StaticType, given: TypeArguments) -> Type | None:
    """Return the type of a new instance of a class, with its type arguments."""
    declared = callee.declared
    part = next((part for part in declared.parts if isinstance(part, nodes.ClassDeclaration)), None)
    if part is None:
        return call_type(checker, callee, given)
    if not part.type_parameters:
        return types.InstanceType(declared)
    arguments = tuple([checker.type_of(given.module, term, given.environment) for term in given.terms])
    return types.InstanceType(declared, tuple(type_environment(checker, declared, part, arguments).values()))


def parameter_type(checker: Checker, function: Type | None, position: int) -> Type | None:
    """Return the type of the parameter with index `position`."""
    found: list[Type | None] = []
    for option in signatures(checker, function):
        parameters = option.term.parameters
        if not parameters or (position >= len(parameters) and not parameters[-1].is_rest):
            continue
        parameter = parameters[min(position, len(parameters) - 1)]
        value = checker.type_of(option.module, parameter.term, option.environment)
        found.append(item_type(checker, value) if parameter.is_rest else value)
    return union_of(found[:_MAX_CALLBACK_OVERLOADS])


def argument_type(checker: Checker, callee: Type | None, position: int, given: TypeArguments) -> Type | None:
    """Return the expected type of an argument of a call."""
    found: list[Type | None] = []
    for option in signatures(checker, callee):
        parameters = option.term.parameters
        if position < len(parameters) or (parameters and parameters[-1].is_rest):
            bound = instantiate(checker, option, given)
            found.append(parameter_type(checker, types.FunctionType(option.module, option.term, bound), position))
    return union_of([each for each in found if each is not None][:_MAX_CALLBACK_OVERLOADS])


def result_type(checker: Checker, function: Type | None) -> Type | None:
    """Return the declared or inferred return type of a function type."""
    options = signatures(checker, function)
    return return_type(checker, options[0], options[0].environment) if options else None


def element_type(checker: Checker, owner: Type | None, index: Type | None) -> Type | None:
    """Return the type of `owner[index]`."""
    if owner is None:
        return None
    if type(index) is types.StringType and index.value is not None:
        return checker.member_type(owner, index.value)
    if type(index) is types.UnionType:
        return union_of([element_type(checker, owner, option) for option in index.options])
    if type(owner) is types.UnionType:
        return union_of([element_type(checker, option, index) for option in owner.options])
    if type(owner) is types.ObjectType:
        return _unknown_key_type(checker, owner, index)
    if type(owner) is types.MappedObject:
        return checker.type_of(
            owner.module, owner.term.value, {**(owner.environment or {}), owner.term.parameter: index}
        )
    if type(owner) is types.UnboundTypeParameter:
        return element_type(checker, owner.bound, index)
    return item_type(checker, owner) or index_type(checker, owner)


def _unknown_key_type(checker: Checker, owner: types.ObjectType, index: Type | None) -> Type | None:
    """Return the type of `object[key]` for a key whose value is unknown."""
    if owner.term.index is not None:
        return checker.type_of(owner.module, owner.term.index, owner.environment)
    if len(owner.term.members) > _MAX_INDEXED_MEMBERS or (
        index is not None and type(index) not in (types.StringType, types.KeysType, types.UnboundTypeParameter)
    ):
        return None
    return union_of([checker.type_of(owner.module, member.term, owner.environment) for member in owner.term.members])


def item_type(checker: Checker, owner: Type | None) -> Type | None:
    """Return the type of the items that iteration over a value yields."""
    if type(owner) is types.Tuple:
        return union_of(list(owner.items))
    if type(owner) is types.UnionType:
        return union_of([item_type(checker, option) for option in owner.options])
    if type(owner) is types.UnboundTypeParameter:
        return item_type(checker, owner.bound)
    if type(owner) is not types.InstanceType:
        return None
    name = owner.declared.name
    if owner.declared.module.is_library:
        if name in _LIBRARY_ITERABLES:
            return owner.arguments[0] if owner.arguments else None
        if name in ("Map", "ReadonlyMap"):
            return types.Tuple(owner.arguments)
        return None
    return _own_item_type(checker, owner)


def _own_item_type(checker: Checker, owner: types.InstanceType) -> Type | None:
    """Return the item type of an iterable class of the project, from the class's iterator or a library base type."""
    for found in find_members(checker, owner, "[Symbol.iterator]"):
        iterator = result_type(checker, checker.property_type(found))
        if iterator is not None and iterator != owner:
            return item_type(checker, iterator)
    library_types = (each for each in ancestors(checker, owner) if each.declared.module.is_library)
    return item_type(checker, next(library_types, None))
