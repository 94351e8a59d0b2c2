"""Narrow the type of a value by a type test (guard) that succeeded or failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript import nodes, types
from deltos.domains.graph.typescript.check.calls import signatures
from deltos.domains.graph.typescript.check.members import find_members, instance_type_of_class, is_assignable
from deltos.domains.graph.typescript.types import union_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.graph.typescript.check.checker import Checker
    from deltos.domains.graph.typescript.check.evaluators import TermContext
    from deltos.domains.graph.typescript.types import Type


def narrow(at: TermContext, term: nodes.Narrowed) -> Type | None:
    """Return the type of a value after a guard, such as `x instanceof C`, succeeded or failed."""
    checker, guard, held = at.checker, term.guard, term.held
    known = at.type_of(term.value)
    if isinstance(guard, nodes.InstanceOf):
        wanted = instance_type_of_class(at.type_of(guard.class_value))
        return _narrow_to_type(checker, known, wanted, held=held)
    if isinstance(guard, nodes.GuardCall):
        wanted = _guarded_type(at, guard)
        return _narrow_to_type(checker, known, wanted, held=held) if wanted is not None else known
    if type(known) is not types.UnionType:
        return known
    if isinstance(guard, nodes.HasMember):
        return _keep_alternatives(known, lambda option: bool(find_members(checker, option, guard.name or "")) == held)
    if isinstance(guard, nodes.HasValue):
        expected = at.type_of(guard.expected)
        return _keep_alternatives(
            known, lambda option: _may_have_value(checker, option, guard.name, expected, held=held)
        )
    return _keep_alternatives(known, lambda option: _is_primitive(option, guard.name) in (held, None))


def _keep_alternatives(known: types.UnionType, keep: Callable[[Type], bool]) -> Type | None:
    """Return the alternatives of a type for which `keep` is true, or all alternatives if it is true for none."""
    kept = [option for option in known.options if keep(option)]
    return union_of(list(kept)) if kept else known


def _narrow_to_type(checker: Checker, known: Type | None, wanted: Type | None, *, held: bool) -> Type | None:
    """Restrict a type to the tested type if the test succeeded, or exclude the tested type if the test failed."""
    if wanted is None:
        return known
    options = known.options if type(known) is types.UnionType else (known,) if known is not None else ()
    wanted_options = wanted.options if type(wanted) is types.UnionType else (wanted,)
    matching = [option for option in options if any(is_assignable(checker, option, each) for each in wanted_options)]
    if not held:
        rest = [option for option in options if option not in matching]
        return union_of(list(rest)) if rest else known
    return union_of(list(matching)) if matching else wanted


def _guarded_type(at: TermContext, guard: nodes.GuardCall) -> Type | None:
    """Return the type that a user-defined type guard asserts for one of its arguments."""
    for option in signatures(at.checker, at.type_of(guard.callee)):
        result = option.term.result
        if isinstance(result, nodes.TypePredicate) and result.parameter == _guarded_name(option, guard.position):
            return at.checker.type_of(option.module, result.asserted, option.environment)
    return None


def _guarded_name(function: types.FunctionType, position: int | None) -> str | None:
    """Return the name of the parameter that a type guard tests, or `this` if `position` is None."""
    if position is None:
        return "this"
    parameters = function.term.parameters
    return parameters[position].name if position < len(parameters) else None


def _may_have_value(checker: Checker, option: Type, name: str, expected: Type | None, *, held: bool) -> bool:
    """Whether a member may have the expected literal value or, if `held` is false, may have a different value."""
    found = checker.member_type(option, name)
    if found is None or expected is None:
        return not (found is None and held and not find_members(checker, option, name)) or expected is None
    values = found.options if type(found) is types.UnionType else (found,)
    comparable = [value for value in values if isinstance(value, types.StringType | types.EnumMember)]
    if len(comparable) != len(values) or any(
        type(value) is types.StringType and value.value is None for value in comparable
    ):
        return True
    return expected in values if held else list(values) != [expected]


def _is_primitive(option: Type, name: str | None) -> bool | None:
    """Return whether `typeof` returns this name for values of a type, or None if the result is unknown."""
    if type(option) is types.UnboundTypeParameter:
        return None
    if type(option) is types.StringType:
        return name == "string"
    if isinstance(option, types.FunctionType | types.OverloadedType):
        return name == "function"
    if type(option) is types.InstanceType and name == "object":
        return True
    return False if name in ("string", "number", "boolean", "undefined", "symbol", "bigint") else None
