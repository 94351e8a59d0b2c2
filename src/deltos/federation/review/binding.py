"""Match the arguments of calls with the parameters of a definition before and after a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.federation.review.signature import EITHER, KEYWORD, KEYWORD_REST, POSITIONAL, REST
from deltos.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from deltos.federation.review.signature import ArgumentList, DeclaredParameter

Parameters = tuple["DeclaredParameter", ...]


def misfit_reason(call: ArgumentList, before: Iterable[Parameters], after: Iterable[Parameters]) -> str:
    """Return why a call that was valid for a former signature is invalid for all current ones, or an empty string."""
    former = [each for each in before if not bind_error(call, each)]
    if not former:
        return ""
    reasons = [bind_error(call, each, former[0]) or _changed_meaning(call, former[0], each) for each in after]
    return "" if not reasons or "" in reasons else reasons[0]


def bind_error(
    call: ArgumentList, parameters: Sequence[DeclaredParameter], former: Sequence[DeclaredParameter] = ()
) -> str:
    """Return why the arguments of a call do not match the parameters, or an empty string if they match.

    If arguments are missing, the message names a new required parameter if there is one.
    """
    positional = [each for each in parameters if each.kind in (POSITIONAL, EITHER)]
    kinds = {each.kind for each in parameters}
    if call.positional_count > len(positional) and REST not in kinds and not call.has_rest:
        return f"{counted(call.positional_count, 'argument')} passed, at most {len(positional)} accepted"
    by_name = {each.name for each in parameters if each.kind in (EITHER, KEYWORD)}
    unknown = [name for name in call.keywords if name not in by_name]
    if unknown and KEYWORD_REST not in kinds:
        return f"unknown argument `{unknown[0]}`"
    passed = {each.name for each in positional[: call.positional_count]}
    if repeated := [name for name in call.keywords if name in passed]:
        return f"argument `{repeated[0]}` passed twice"
    missing = _missing_arguments(call, parameters, positional)
    known = {each.name for each in former} | set(call.keywords) if former else {each.name for each in parameters}
    new = [each.name for each in parameters if each.is_required and each.name not in known]
    return f"missing required argument `{(new or missing)[0]}`" if missing else ""


def _missing_arguments(
    call: ArgumentList, parameters: Sequence[DeclaredParameter], positional: Sequence[DeclaredParameter]
) -> list[str]:
    """Return the names of the required parameters that a call does not pass."""
    open_positional = [] if call.has_rest else positional[call.positional_count :]
    candidates = [each for each in parameters if each in open_positional or each.kind == KEYWORD]
    if call.has_keyword_rest:
        candidates = [each for each in candidates if each.kind == POSITIONAL]
    return [each.name for each in candidates if each.is_required and each.name not in call.keywords]


def _changed_meaning(
    call: ArgumentList, before: Sequence[DeclaredParameter], after: Sequence[DeclaredParameter]
) -> str:
    """Return a message if a positional argument is now passed to another parameter, or an empty string."""
    old = [each.name for each in before if each.kind in (POSITIONAL, EITHER)]
    new = [each.name for each in after if each.kind in (POSITIONAL, EITHER)]
    for number, (was, now) in enumerate(zip(old[: call.positional_count], new, strict=False), 1):
        if was != now and (was in new or now in old):
            return f"argument {number} was `{was}` and is now `{now}`"
    return ""


def parameter_breaks(
    before: Sequence[DeclaredParameter], after: Sequence[DeclaredParameter], *, calls_by_name: bool
) -> list[str]:
    """Return a short message for each change of a parameter list that breaks callers."""
    return [
        *_removed_parameters(before, after, calls_by_name=calls_by_name),
        *_new_requirements(before, after),
        *_changed_kinds(before, after),
        *_moved_parameters(before, after),
    ]


def _removed_parameters(
    before: Sequence[DeclaredParameter], after: Sequence[DeclaredParameter], *, calls_by_name: bool
) -> Iterable[str]:
    """Yield a message for each removed or renamed parameter. Renaming breaks only calls with named arguments."""
    names, kinds = {each.name for each in after}, {each.kind for each in after}
    for at, old in enumerate(before):
        if old.name in names or (old.kind in (REST, KEYWORD_REST) and old.kind in kinds):
            continue
        if new := _renamed_parameter(at, before, after):
            if calls_by_name and old.kind != POSITIONAL and KEYWORD_REST not in kinds:
                yield f"parameter `{old.name}` renamed to `{new.name}`"
        elif not (REST in kinds and old.kind == POSITIONAL) and not _is_absorbed(old, kinds):
            yield f"parameter `{old.name}` removed"


def _is_absorbed(old: DeclaredParameter, kinds: Collection[str]) -> bool:
    """Whether rest parameters such as `*args` in the new signature accept arguments for the removed parameter."""
    by_name = old.kind == POSITIONAL or KEYWORD_REST in kinds
    by_position = old.kind == KEYWORD or REST in kinds
    return by_name and by_position and old.kind not in (REST, KEYWORD_REST)


def _renamed_parameter(
    at: int, before: Sequence[DeclaredParameter], after: Sequence[DeclaredParameter]
) -> DeclaredParameter | None:
    """Return the new parameter if the parameter at a position was only renamed, or None."""
    if len(before) != len(after) or at >= len(after):
        return None
    new = after[at]
    is_new = new.name not in {each.name for each in before}
    return new if is_new and new.kind == before[at].kind and new.is_required <= before[at].is_required else None


def _new_requirements(before: Sequence[DeclaredParameter], after: Sequence[DeclaredParameter]) -> Iterable[str]:
    """Yield a message for each new required parameter, and for each parameter that lost its default value."""
    old = {each.name: each for each in before}
    renamed = {new.name for at in range(len(before)) if (new := _renamed_parameter(at, before, after)) is not None}
    for each in after:
        if not each.is_required or each.kind in (REST, KEYWORD_REST):
            continue
        if each.name not in old:
            if each.name not in renamed:
                yield f"new required parameter `{each.name}`"
        elif not old[each.name].is_required and old[each.name].kind not in (REST, KEYWORD_REST):
            yield f"parameter `{each.name}` is now required"


def _changed_kinds(before: Sequence[DeclaredParameter], after: Sequence[DeclaredParameter]) -> Iterable[str]:
    """Yield a message for each parameter that can no longer be passed by position or by name."""
    new = {each.name: each for each in after}
    for each in before:
        now = new[each.name].kind if each.name in new else each.kind
        if each.kind != now and now == KEYWORD:
            yield f"parameter `{each.name}` is now keyword-only"
        elif each.kind != now and now == POSITIONAL:
            yield f"parameter `{each.name}` is now positional-only"


def _moved_parameters(before: Sequence[DeclaredParameter], after: Sequence[DeclaredParameter]) -> Iterable[str]:
    """Yield a message about the first moved parameter, or about a parameter inserted before existing parameters."""
    names = {each.name for each in before if each.kind in (POSITIONAL, EITHER)}
    names &= {each.name for each in after if each.kind in (POSITIONAL, EITHER)}
    old = [each.name for each in before if each.name in names]
    new = [each.name for each in after if each.name in names]
    if moved := next((was for was, now in zip(old, new, strict=True) if was != now), None):
        yield f"parameter `{moved}` moved to another position"
    elif inserted := _inserted_parameter(before, after, names):
        yield f"optional parameter `{inserted}` inserted before existing ones"


def _inserted_parameter(before: Sequence[DeclaredParameter], after: Sequence[DeclaredParameter], kept: set[str]) -> str:
    """Return the name of a new optional parameter before an existing positional one, or an empty string."""
    known = {each.name for each in before}
    positional = [each for each in after if each.kind in (POSITIONAL, EITHER)]
    last = max((at for at, each in enumerate(positional) if each.name in kept), default=-1)
    renamed = {new.name for at in range(len(before)) if (new := _renamed_parameter(at, before, after)) is not None}
    inserted = [each for each in positional[: max(0, last)] if each.name not in known | renamed]
    return next((each.name for each in inserted if not each.is_required), "")
