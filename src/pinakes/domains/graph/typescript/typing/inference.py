"""Type parameters: what they stand for, found out by laying the type of a parameter over the type of its argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinakes.domains.graph.typescript.terms import (
    ALIAS_DECLARATION,
    ARRAY,
    EITHER,
    FUNCTION,
    INFER,
    IS_REST,
    MEMBER,
    OBJECT,
    REF,
    TUPLE,
    TYPE_PARAMETER,
    Term,
)
from pinakes.domains.graph.typescript.typing.types import (
    Declared,
    Either,
    Environment,
    Function,
    Tuple,
    Type,
    either,
)

if TYPE_CHECKING:
    from pinakes.domains.graph.typescript.project.module import Module
    from pinakes.domains.graph.typescript.typing.checker import Checker

_MAX_DEPTH = 6


def infer(checker: Checker, function: Function, parameter: Term, argument: tuple[Module, Term, Environment | None],
          names: frozenset[str], found: Environment) -> None:
    """Bind the type parameters that an argument tells about."""
    module, term, environment = argument
    if not mentions(parameter[1], names):
        return
    given = checker.of(module, term, environment)
    wanted = parameter[1]
    if parameter[2] & IS_REST and type(wanted) is tuple and wanted[0] == ARRAY:
        wanted = wanted[1]
    match(checker, function.module, wanted, given, names, found, 0)


def mentions(term: Term, names: frozenset[str]) -> bool:
    """Whether a term speaks of one of these type parameters."""
    if type(term) is not tuple:
        return False
    if len(term) > 1 and term[0] in (TYPE_PARAMETER, INFER) and term[1] in names:
        return True
    return any(mentions(part, names) for part in term if type(part) is tuple)


def match(checker: Checker, module: Module, wanted: Term, given: Type | None, names: frozenset[str],
          found: Environment, depth: int) -> None:
    """Lay a wanted type's term over a given type."""
    if given is None or type(wanted) is not tuple or depth > _MAX_DEPTH:
        return
    operator = wanted[0]
    if operator in (TYPE_PARAMETER, INFER):
        if wanted[1] in names:
            found[wanted[1]] = given if found.get(wanted[1]) is None else either([found[wanted[1]], given])
    elif operator == ARRAY:
        match(checker, module, wanted[1], checker.item_type(given), names, found, depth + 1)
    elif operator == EITHER:
        for option in wanted[1:]:
            match(checker, module, option, given, names, found, depth + 1)
    elif operator == TUPLE and type(given) is Tuple:
        for part, item in zip(wanted[1:], given.items, strict=False):
            match(checker, module, part, item, names, found, depth + 1)
    elif operator == REF:
        _match_reference(checker, module, wanted, given, names, found, depth)
    elif operator == FUNCTION:
        _match_function(checker, module, wanted, given, names, found, depth)
    elif operator == OBJECT:
        for name, term, _, _ in wanted[1]:
            match(checker, module, term, checker.member_type(given, name), names, found, depth + 1)


def _match_reference(checker: Checker, module: Module, wanted: Term, given: Type, names: frozenset[str],
                     found: Environment, depth: int) -> None:
    declared = checker.entity(module, wanted[1])
    if type(declared) is not Declared:
        return
    alias = next((part for part in declared.parts if part[0] == ALIAS_DECLARATION), None)
    if alias is not None:
        _match_alias(checker, module, wanted, (declared, alias[2], alias[3]), given, names, found, depth)
        return
    for option in given.options if type(given) is Either else (given,):
        base = checker.as_instance_of(option, declared)
        if base is not None:
            for part, argument in zip(wanted[2], base.arguments, strict=False):
                match(checker, module, part, argument, names, found, depth + 1)
        elif declared.module.is_library and declared.name in ("Iterable", "ArrayLike", "ReadonlyArray", "AsyncIterable"):
            match(checker, module, wanted[2][0] if wanted[2] else None, checker.item_type(option), names, found, depth + 1)


def _match_alias(checker: Checker, module: Module, wanted: Term, alias: tuple[Declared, Term, Term], given: Type,
                 names: frozenset[str], found: Environment, depth: int) -> None:
    """Match what an alias stands for, then carry its parameters over to the arguments it was given."""
    declared, parameters, term = alias
    own = frozenset([name for name, _, _ in parameters])
    inner: Environment = {}
    match(checker, declared.module, term, given, own, inner, depth + 1)
    for (name, _, _), argument in zip(parameters, wanted[2], strict=False):
        match(checker, module, argument, inner.get(name), names, found, depth + 1)


def _match_function(checker: Checker, module: Module, wanted: Term, given: Type, names: frozenset[str],
                    found: Environment, depth: int) -> None:
    if mentions(wanted[3], names):
        match(checker, module, wanted[3], checker.result_type(given), names, found, depth + 1)
    if type(given) is not Function or given.term[0] != FUNCTION:
        return
    for (_, term, _), (_, given_term, _) in zip(wanted[2], given.term[2], strict=False):
        if given_term is not None and type(given_term) is tuple and given_term[0] not in (MEMBER, "param"):
            match(checker, module, term, checker.of(given.module, given_term, given.environment), names, found, depth + 1)
