"""Calls: which signature is meant, what its type parameters stand for, what comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinakes.domains.graph.typescript.terms import (
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
from pinakes.domains.graph.typescript.typing.inference import infer
from pinakes.domains.graph.typescript.typing.members import bindings
from pinakes.domains.graph.typescript.typing.types import (
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
    from pinakes.domains.graph.typescript.project.module import Module
    from pinakes.domains.graph.typescript.typing.checker import Checker


def signatures(checker: Checker, callee: Type | None) -> list[Function]:
    """The ways in which a value can be called."""
    kind = type(callee)
    if kind is Function:
        return _unfold(callee)  # type: ignore[arg-type]
    if kind is Structure:
        return [Function(callee.module, term, callee.environment) for term in callee.term[3]]  # type: ignore[union-attr]
    if kind is Instance:
        return _instance_signatures(checker, callee)  # type: ignore[arg-type]
    if kind is Static:
        return _static_signatures(checker, callee)  # type: ignore[arg-type]
    if kind is Both:
        return [each for part in callee.parts for each in signatures(checker, part)]  # type: ignore[union-attr]
    if kind is Either:
        return [each for part in callee.options for each in signatures(checker, part)]  # type: ignore[union-attr]
    if kind is Opaque:
        return signatures(checker, callee.bound)  # type: ignore[union-attr]
    return []


def _unfold(function: Function) -> list[Function]:
    if function.term[0] == OVERLOADS:
        return [Function(function.module, term, function.environment) for term in function.term[1:] if term is not None and term[0] == FUNCTION]
    return [function]


def _instance_signatures(checker: Checker, callee: Instance) -> list[Function]:
    found: list[Function] = []
    declared = callee.declared
    for part in declared.parts:
        if part[0] == INTERFACE_DECLARATION and part[5]:
            environment = bindings(checker, declared, part, callee.arguments)
            found += [Function(declared.module, term, environment) for term in part[5]]
    if found:
        return found
    return [each for base in checker.bases(callee) for each in signatures(checker, base)]


def _static_signatures(checker: Checker, callee: Static) -> list[Function]:
    """A function that also has members."""
    found: list[Function] = []
    for part in callee.declared.parts:
        if part[0] == VALUE_DECLARATION:
            value = checker.of(callee.declared.module, part[2])
            if type(value) is not Static:
                found += signatures(checker, value)
    return found


def call(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    """The type of a call."""
    _, target, arguments, type_terms = term
    callee = checker.of(module, target, environment)
    if type(callee) is Either:
        return either([_call_one(checker, module, option, arguments, type_terms, environment) for option in callee.options])
    return _call_one(checker, module, callee, arguments, type_terms, environment)


def _call_one(checker: Checker, module: Module, callee: Type | None, arguments: tuple[Term, ...],
              type_terms: tuple[Term, ...], environment: Environment | None) -> Type | None:
    options = signatures(checker, callee)
    if not options:
        return None
    chosen = _choose(checker, module, options, arguments, environment)
    bound = _instantiate(checker, module, chosen, arguments, type_terms, environment)
    return returned(checker, chosen, bound)


def _choose(checker: Checker, module: Module, options: list[Function], arguments: tuple[Term, ...],
            environment: Environment | None) -> Function:
    """The first signature that takes these arguments."""
    if len(options) == 1:
        return options[0]
    for option in options:
        if _takes(checker, module, option, arguments, environment):
            return option
    return options[-1]


def _takes(checker: Checker, module: Module, option: Function, arguments: tuple[Term, ...],
           environment: Environment | None) -> bool:
    parameters = option.term[2]
    required = sum(1 for parameter in parameters if not parameter[2])
    is_open = bool(parameters) and bool(parameters[-1][2] & IS_REST)
    if len(arguments) < required or (len(arguments) > len(parameters) and not is_open):
        return False
    for argument, parameter in zip(arguments, parameters, strict=False):
        if not _fits(checker, module, argument, option, parameter, environment):
            return False
    return True


def _fits(checker: Checker, module: Module, argument: Term, option: Function, parameter: Term,
          environment: Environment | None) -> bool:
    """Whether an argument may be passed; only what is surely wrong is refused."""
    if parameter[2] & IS_REST or type(argument) is not tuple:
        return True
    wanted = checker.of(option.module, parameter[1], option.environment)
    if argument[0] == FUNCTION:
        return wanted is None or bool(signatures(checker, wanted)) or type(wanted) is Opaque
    if argument[0] == TEXT and argument[1] is not None and type(wanted) is Text:
        return wanted.value is None or wanted.value == argument[1]
    if argument[0] == TEXT and wanted is not None and type(wanted) in (Function, Instance, Structure):
        return False
    return True


def _instantiate(checker: Checker, module: Module, function: Function, arguments: tuple[Term, ...],
                 type_terms: tuple[Term, ...], environment: Environment | None) -> Environment | None:
    """The function's environment with its own type parameters bound."""
    names = function.term[1]
    if not names:
        return function.environment
    bound: Environment = dict(function.environment or {})
    found: Environment = {}
    if type_terms:
        for (name, _, _), given in zip(names, type_terms, strict=False):
            found[name] = checker.of(module, given, environment)
    else:
        own = frozenset([name for name, _, _ in names])
        for parameter, argument in _matched(function.term[2], arguments):
            if argument is not None and parameter[1] is not None:
                infer(checker, function, parameter, (module, argument, environment), own, found)
    for name, constraint, default in names:
        if found.get(name) is None:
            fallback = default if default is not None else constraint
            found[name] = checker.of(function.module, fallback, {**bound, **found}) if fallback is not None else None
    bound.update(found)
    return bound


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
    if environment is None:
        found = checker.memo.ask(("returned", id(function.term)), lambda: _union_of(checker, function, values, None))
    else:
        found = _union_of(checker, function, values, environment)
    return checker.promise_of(found) if flags & IS_ASYNC else found


def _union_of(checker: Checker, function: Function, values: tuple[Term, ...], environment: Environment | None) -> Type | None:
    return either([checker.of(function.module, value, environment) for value in values])


def construct(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    """The type of `new callee(…)`."""
    _, target, arguments, type_terms = term
    callee = checker.of(module, target, environment)
    return _construct_one(checker, module, callee, arguments, type_terms, environment)


def _construct_one(checker: Checker, module: Module, callee: Type | None, arguments: tuple[Term, ...],
                   type_terms: tuple[Term, ...], environment: Environment | None) -> Type | None:
    if type(callee) is Either:
        return either([_construct_one(checker, module, option, arguments, type_terms, environment) for option in callee.options])
    if type(callee) is Static:
        return _construct_class(checker, module, callee, arguments, type_terms, environment)
    return _call_one(checker, module, callee, arguments, type_terms, environment)


def _construct_class(checker: Checker, module: Module, callee: Static, arguments: tuple[Term, ...],
                     type_terms: tuple[Term, ...], environment: Environment | None) -> Type | None:
    declared = callee.declared
    part = next((part for part in declared.parts if part[0] == CLASS_DECLARATION), None)
    if part is None:
        return _call_one(checker, module, callee, arguments, type_terms, environment)
    if not part[2]:
        return Instance(declared)
    if type_terms:
        return Instance(declared, tuple([checker.of(module, given, environment) for given in type_terms]))
    constructor = part[6].get("constructor")
    if constructor is None or not arguments:
        return Instance(declared, tuple(bindings(checker, declared, part, ()).values()))
    heads = _unfold(Function(declared.module, constructor[2]))
    term = (FUNCTION, part[2], heads[0].term[2] if heads else (), None, (), 0)
    bound = _instantiate(checker, module, Function(declared.module, term), arguments, (), environment) or {}
    return Instance(declared, tuple([bound.get(name) for name, _, _ in part[2]]))


def parameter_type(checker: Checker, function: Type | None, position: int) -> Type | None:
    """What a function takes at a position."""
    found: list[Type | None] = []
    for option in signatures(checker, function):
        parameters = option.term[2]
        if position < len(parameters):
            term, flags = parameters[position][1], parameters[position][2]
            value = checker.of(option.module, term, option.environment)
            found.append(checker.item_type(value) if flags & IS_REST else value)
        elif parameters and parameters[-1][2] & IS_REST:
            found.append(checker.item_type(checker.of(option.module, parameters[-1][1], option.environment)))
    return either(found[:3])


def argument_type(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    """What a call expects at a position, given the arguments before it."""
    _, target, position, earlier, type_terms = term
    callee = checker.of(module, target, environment)
    found: list[Type | None] = []
    for option in signatures(checker, callee):
        parameters = option.term[2]
        if position < len(parameters) or (parameters and parameters[-1][2] & IS_REST):
            bound = _instantiate(checker, module, option, earlier, type_terms, environment)
            found.append(parameter_type(checker, Function(option.module, option.term, bound), position))
    known = [each for each in found if each is not None]
    return either(known[:2])


def result_type(checker: Checker, function: Type | None) -> Type | None:
    """What a function type promises to return."""
    options = signatures(checker, function)
    return returned(checker, options[0], options[0].environment) if options else None


