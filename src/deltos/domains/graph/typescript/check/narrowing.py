"""Narrowing: what is left of a type once a test on the value has held, or has not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.check.calls import signatures
from deltos.domains.graph.typescript.check.members import constructed, is_assignable, members
from deltos.domains.graph.typescript.types import (
    Either,
    Environment,
    Function,
    Instance,
    Member,
    Opaque,
    Overloaded,
    Text,
    Type,
    either,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.graph.typescript.check.checker import Checker
    from deltos.domains.graph.typescript.modules.module import Module


def narrow(checker: Checker, module: Module, term: nodes.Narrowed, environment: Environment | None) -> Type | None:
    """The type of a value about which a guard has told something."""
    guard, held = term.guard, term.held
    known = checker.of(module, term.value, environment)
    if isinstance(guard, nodes.InstanceOf):
        wanted = constructed(checker.of(module, guard.class_value, environment))
        return _to_type(checker, known, wanted, held=held)
    if isinstance(guard, nodes.GuardCall):
        wanted = _guarded_type(checker, module, guard, environment)
        return _to_type(checker, known, wanted, held=held) if wanted is not None else known
    if type(known) is not Either:
        return known
    if isinstance(guard, nodes.HasMember):
        return _filter(known, lambda option: bool(members(checker, option, guard.name or "")) == held)
    if isinstance(guard, nodes.HasValue):
        expected = checker.of(module, guard.expected, environment)
        return _filter(known, lambda option: _may_have(checker, option, guard.name, expected, held=held))
    return _filter(known, lambda option: _is_primitive(option, guard.name) in (held, None))


def _filter(known: Either, keep: Callable[[Type], bool]) -> Type | None:
    kept = [option for option in known.options if keep(option)]
    return either(list(kept)) if kept else known


def _to_type(checker: Checker, known: Type | None, wanted: Type | None, *, held: bool) -> Type | None:
    """Narrow to a type, or away from it."""
    if wanted is None:
        return known
    options = known.options if type(known) is Either else (known,) if known is not None else ()
    wanted_options = wanted.options if type(wanted) is Either else (wanted,)
    matching = [option for option in options if any(is_assignable(checker, option, each) for each in wanted_options)]
    if not held:
        rest = [option for option in options if option not in matching]
        return either(list(rest)) if rest else known
    return either(list(matching)) if matching else wanted


def _guarded_type(
    checker: Checker, module: Module, guard: nodes.GuardCall, environment: Environment | None
) -> Type | None:
    """What a user-defined type guard says about one of its arguments."""
    callee = checker.of(module, guard.callee, environment)
    for option in signatures(checker, callee):
        result = option.term.result
        if isinstance(result, nodes.TypePredicate) and result.parameter == _guarded_name(option, guard.position):
            return checker.of(option.module, result.asserted, option.environment)
    return None


def _guarded_name(function: Function, position: int | None) -> str | None:
    if position is None:
        return "this"
    parameters = function.term.parameters
    return parameters[position].name if position < len(parameters) else None


def _may_have(checker: Checker, option: Type, name: str, expected: Type | None, *, held: bool) -> bool:
    """Whether a member of a type may (or, if not held, must not always) have a literal value."""
    found = checker.member_type(option, name)
    if found is None or expected is None:
        return not (found is None and held and not members(checker, option, name)) or expected is None
    values = found.options if type(found) is Either else (found,)
    comparable = [value for value in values if isinstance(value, Text | Member)]
    if len(comparable) != len(values) or any(type(value) is Text and value.value is None for value in comparable):
        return True
    return expected in values if held else list(values) != [expected]


def _is_primitive(option: Type, name: str | None) -> bool | None:
    """Whether `typeof` says this of a value; None where it cannot be told."""
    if type(option) is Opaque:
        return None
    if type(option) is Text:
        return name == "string"
    if isinstance(option, Function | Overloaded):
        return name == "function"
    if type(option) is Instance and name == "object":
        return True
    return False if name in ("string", "number", "boolean", "undefined", "symbol", "bigint") else None
