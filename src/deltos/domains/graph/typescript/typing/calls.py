"""Calls: which signature is meant, what its type parameters stand for, what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.terms import (
    CLASS_DECLARATION,
    FUNCTION,
    INTERFACE_DECLARATION,
    IS_ASYNC,
    IS_GENERATOR,
    IS_REST,
    OVERLOADS,
    TEXT,
    VALUE_DECLARATION,
    Term,
)
from deltos.domains.graph.typescript.typing.inference import Inference
from deltos.domains.graph.typescript.typing.members import bindings, constructed
from deltos.domains.graph.typescript.typing.types import (
    Both,
    Either,
    Environment,
    Function,
    Instance,
    Opaque,
    Static,
    Structure,
    Text,
    Type,
    either,
)

if TYPE_CHECKING:
    from deltos.domains.graph.typescript.project.module import Module
    from deltos.domains.graph.typescript.typing.checker import Checker

_MAX_CONTEXTS = 3  # overloads that tell what a callback's parameter may be


@dataclass(frozen=True, slots=True)
class Given:
    """What a call passes, as terms of the calling module."""

    module: Module
    arguments: tuple[Term, ...]
    type_arguments: tuple[Term, ...]
    environment: Environment | None


def signatures(checker: Checker, callee: Type | None) -> list[Function]:
    """The ways in which a value can be called."""
    if isinstance(callee, Function):
        return _unfold(callee)
    if isinstance(callee, Structure):
        return [Function(callee.module, term, callee.environment) for term in callee.term[3]]
    if isinstance(callee, Instance):
        return _instance_signatures(checker, callee)
    if isinstance(callee, Static):
        return _static_signatures(checker, callee)
    if isinstance(callee, Opaque):
        return signatures(checker, callee.bound)
    if isinstance(callee, Both):
        return [each for part in callee.parts for each in signatures(checker, part)]
    if isinstance(callee, Either):
        return [each for part in callee.options for each in signatures(checker, part)]
    return []


def _unfold(function: Function) -> list[Function]:
    if function.term[0] != OVERLOADS:
        return [function]
    terms = [term for term in function.term[1:] if term is not None and term[0] == FUNCTION]
    return [Function(function.module, term, function.environment) for term in terms]


def _instance_signatures(checker: Checker, callee: Instance) -> list[Function]:
    found: list[Function] = []
    declared = callee.declared
    for part in declared.parts:
        if part[0] == INTERFACE_DECLARATION and part[5]:
            environment = bindings(checker, declared, part, callee.arguments)
            found += [Function(declared.module, term, environment) for term in part[5]]
    return found or [each for base in checker.bases(callee) for each in signatures(checker, base)]


def _static_signatures(checker: Checker, callee: Static) -> list[Function]:
    """A function that also has members."""
    found: list[Function] = []
    for part in callee.declared.parts:
        if part[0] == VALUE_DECLARATION:
            value = checker.of(callee.declared.module, part[2])
            if not isinstance(value, Static):
                found += signatures(checker, value)
    return found


def call(checker: Checker, callee: Type | None, given: Given) -> Type | None:
    """The type of a call."""
    if isinstance(callee, Either):
        return either([call(checker, option, given) for option in callee.options])
    options = signatures(checker, callee)
    if not options:
        return None
    chosen = _choose(checker, options, given)
    return returned(checker, chosen, instantiate(checker, chosen, given))


def _choose(checker: Checker, options: list[Function], given: Given) -> Function:
    """The first signature that takes these arguments."""
    if len(options) == 1:
        return options[0]
    return next((option for option in options if _takes(checker, option, given)), options[-1])


def _takes(checker: Checker, option: Function, given: Given) -> bool:
    parameters = option.term[2]
    count = len(given.arguments)
    required = sum(1 for parameter in parameters if not parameter[2])
    is_open = bool(parameters) and bool(parameters[-1][2] & IS_REST)
    if count < required or (count > len(parameters) and not is_open):
        return False
    pairs = zip(given.arguments, parameters, strict=False)
    return all(_fits(checker, argument, option, parameter) for argument, parameter in pairs)


def _fits(checker: Checker, argument: Term, option: Function, parameter: Term) -> bool:
    """Whether an argument may be passed; only what is surely wrong is refused."""
    if parameter[2] & IS_REST or type(argument) is not tuple or argument[0] not in (FUNCTION, TEXT):
        return True
    wanted = checker.of(option.module, parameter[1], option.environment)
    if argument[0] == FUNCTION:
        return wanted is None or isinstance(wanted, Opaque) or bool(signatures(checker, wanted))
    if isinstance(wanted, Text):
        return wanted.value is None or argument[1] is None or wanted.value == argument[1]
    return not isinstance(wanted, Function | Instance | Structure)


def instantiate(checker: Checker, function: Function, given: Given) -> Environment | None:
    """The function's environment with its own type parameters bound."""
    names = function.term[1]
    if not names:
        return function.environment
    found = _stated(checker, names, given) if given.type_arguments else _inferred(checker, function, given)
    bound: Environment = dict(function.environment or {})
    for name, constraint, default in names:
        if found.get(name) is None:
            fallback = default if default is not None else constraint
            found[name] = checker.of(function.module, fallback, {**bound, **found})
    bound.update(found)
    return bound


def _stated(checker: Checker, names: tuple[Term, ...], given: Given) -> Environment:
    pairs = zip(names, given.type_arguments, strict=False)
    return {name: checker.of(given.module, term, given.environment) for (name, _, _), term in pairs}


def _inferred(checker: Checker, function: Function, given: Given) -> Environment:
    inference = Inference(checker, function.module, frozenset([name for name, _, _ in function.term[1]]))
    for parameter, argument in _matched(function.term[2], given.arguments):
        if argument is not None and inference.concerns(parameter[1]):
            value = checker.of(given.module, argument, given.environment)
            inference.take(parameter[1], value, is_rest=bool(parameter[2] & IS_REST))
    return inference.found


def _matched(parameters: tuple[Term, ...], arguments: tuple[Term, ...]) -> list[tuple[Term, Term]]:
    """Arguments with the parameters that take them; a rest parameter takes all that are left."""
    pairs: list[tuple[Term, Term]] = []
    for position, argument in enumerate(arguments):
        if position < len(parameters):
            pairs.append((parameters[position], argument))
        elif parameters and parameters[-1][2] & IS_REST:
            pairs.append((parameters[-1], argument))
    return pairs


def returned(checker: Checker, function: Function, environment: Environment | None) -> Type | None:
    """What a function returns, with its type parameters bound."""
    _, _, _, result, values, flags = function.term
    if result is not None:
        return checker.of(function.module, result, environment)
    if not values or flags & IS_GENERATOR:
        return None

    def compute() -> Type | None:
        return either([checker.of(function.module, value, environment) for value in values])

    found = checker.memo.ask(("returned", function), compute) if environment is None else compute()
    return checker.promise_of(found) if flags & IS_ASYNC else found


def construct(checker: Checker, callee: Type | None, given: Given) -> Type | None:
    """The type of `new callee(…)`."""
    if isinstance(callee, Either):
        return either([construct(checker, option, given) for option in callee.options])
    if isinstance(callee, Static):
        return _construct_class(checker, callee, given)
    if isinstance(callee, Both):
        return constructed(callee)
    return call(checker, callee, given)


def _construct_class(checker: Checker, callee: Static, given: Given) -> Type | None:
    declared = callee.declared
    part = next((part for part in declared.parts if part[0] == CLASS_DECLARATION), None)
    if part is None:
        return call(checker, callee, given)
    if not part[2]:
        return Instance(declared)
    constructor = part[6].get("constructor")
    if not given.type_arguments and (constructor is None or not given.arguments):
        return Instance(declared, tuple(bindings(checker, declared, part, ()).values()))
    heads = _unfold(Function(declared.module, constructor[2])) if constructor is not None else []
    head = (FUNCTION, part[2], heads[0].term[2] if heads else (), None, (), 0)
    bound = instantiate(checker, Function(declared.module, head), given) or {}
    return Instance(declared, tuple([bound.get(name) for name, _, _ in part[2]]))


def parameter_type(checker: Checker, function: Type | None, position: int) -> Type | None:
    """What a function takes at a position."""
    found: list[Type | None] = []
    for option in signatures(checker, function):
        parameters = option.term[2]
        if not parameters or (position >= len(parameters) and not parameters[-1][2] & IS_REST):
            continue
        parameter = parameters[min(position, len(parameters) - 1)]
        value = checker.of(option.module, parameter[1], option.environment)
        found.append(checker.item_type(value) if parameter[2] & IS_REST else value)
    return either(found[:_MAX_CONTEXTS])


def argument_type(checker: Checker, callee: Type | None, position: int, given: Given) -> Type | None:
    """What a call expects at a position, given the arguments before it."""
    found: list[Type | None] = []
    for option in signatures(checker, callee):
        parameters = option.term[2]
        if position < len(parameters) or (parameters and parameters[-1][2] & IS_REST):
            bound = instantiate(checker, option, given)
            found.append(parameter_type(checker, Function(option.module, option.term, bound), position))
    return either([each for each in found if each is not None][:_MAX_CONTEXTS])


def result_type(checker: Checker, function: Type | None) -> Type | None:
    """What a function type promises to return."""
    options = signatures(checker, function)
    return returned(checker, options[0], options[0].environment) if options else None
