"""Compare two versions of an API and find changes that break callers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.apis.model import Json, Operation, OperationChange
from deltos.domains.apis.outline import label, members_of
from deltos.domains.apis.refs import find_references

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from deltos.domains.apis.outline import Resolve

MAX_REASONS = 6  # maximum number of reasons reported per operation
MAX_DEPTH = 3  # maximum nesting level at which fields are compared
_ANY_TYPE = "any"  # label for fields without a type


@dataclass(frozen=True, slots=True)
class ApiState:
    """Operations and schemas of one version of an API, both decoded and as encoded bytes."""

    operations: Mapping[str, Operation]
    encoded_operations: Mapping[str, bytes]
    encoded_schemas: Mapping[str, bytes]
    resolve: Resolve


def compare(old: ApiState, new: ApiState) -> tuple[OperationChange, ...]:
    """Return the removed, changed and added operations between two versions, in that order."""
    touched = _affected_schemas(old.encoded_schemas, new.encoded_schemas)
    removed = [
        OperationChange(key, "removed", ("operation removed",)) for key in old.operations if key not in new.operations
    ]
    added = [OperationChange(key, "added") for key in new.operations if key not in old.operations]
    changed = [
        OperationChange(
            key,
            "changed",
            tuple(_find_breaking_changes(old.operations[key], new.operations[key], old.resolve, new.resolve)),
        )
        for key, encoded in new.encoded_operations.items()
        if key in old.operations
        and (encoded != old.encoded_operations[key] or touched.intersection(find_references(encoded)))
    ]
    return (*removed, *changed, *added)


def _affected_schemas(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> set[str]:
    """Return the schemas that changed, and the schemas that refer to a changed schema directly or indirectly."""
    touched = {pointer for pointer in {*old, *new} if old.get(pointer) != new.get(pointer)}
    dependants: dict[str, list[str]] = {}
    for pointer, encoded in new.items():
        for target in find_references(encoded):
            dependants.setdefault(target, []).append(pointer)
    pending = list(touched)
    while pending:
        for dependant in dependants.get(pending.pop(), ()):
            if dependant not in touched:
                touched.add(dependant)
                pending.append(dependant)
    return touched


def _find_breaking_changes(old: Operation, new: Operation, resolve_old: Resolve, resolve_new: Resolve) -> list[str]:
    """Return at most `MAX_REASONS` reasons why callers of an operation may fail."""
    reasons = [
        *_breaking_parameter_changes(old, new, resolve_old, resolve_new),
        *_breaking_request_changes(old, new, resolve_old, resolve_new),
        *_breaking_response_changes(old, new, resolve_old, resolve_new),
        *(["now needs authentication"] if _requires_auth(new) and not _requires_auth(old) else []),
    ]
    return reasons[:MAX_REASONS]


def _requires_auth(operation: Operation) -> bool:
    """Whether an operation cannot be called without authentication."""
    return bool(operation.security) and all(operation.security)


def _breaking_parameter_changes(
    old: Operation, new: Operation, resolve_old: Resolve, resolve_new: Resolve
) -> Iterator[str]:
    """Yield the parameter changes that may break callers."""
    before = {(parameter.location, parameter.name): parameter for parameter in old.parameters}
    after = {(parameter.location, parameter.name): parameter for parameter in new.parameters}
    for key, parameter in after.items():
        known = before.get(key)
        what = f"{parameter.location} parameter '{parameter.name}'"
        if parameter.required and (known is None or not known.required):
            yield f"{what} is now required"
        elif known is not None:
            yield from _narrowing_reasons(what, known.schema, parameter.schema, resolve_old, resolve_new)
    for key, parameter in before.items():
        if key not in after:
            yield f"{parameter.location} parameter '{parameter.name}' removed"


def _narrowing_reasons(what: str, old: Json, new: Json, resolve_old: Resolve, resolve_new: Resolve) -> Iterator[str]:
    """Yield reasons why an input accepts fewer values than before: another type, or fewer enum values."""
    values_old, values_new = _enum_values(old), _enum_values(new)
    if values_old and values_new:
        if gone := [value for value in values_old if value not in values_new]:
            yield f"{what} no longer accepts {', '.join(map(str, gone[:3]))}"
        return
    before, after = label(old, resolve_old), label(new, resolve_new)
    if before != after and not values_old:
        yield f"{what} changed from {before} to {after}"


def _enum_values(schema: Json) -> list[Json]:
    values = schema.get("enum") if isinstance(schema, dict) else None
    return values if isinstance(values, list) else []


def _breaking_request_changes(
    old: Operation, new: Operation, resolve_old: Resolve, resolve_new: Resolve
) -> Iterator[str]:
    """Yield the changes of request bodies that may break callers."""
    if new.body_required and not old.body_required:
        yield "a request body is now required"
    before = {content.media_type: content.schema for content in old.bodies}
    for media_type in before.keys() - {content.media_type for content in new.bodies}:
        yield f"no longer accepts {media_type}"
    for content in new.bodies:
        if content.media_type in before:
            fields_old = _fields(before[content.media_type], resolve_old)
            fields_new = _fields(content.schema, resolve_new)
            yield from _breaking_input_field_changes(fields_old, fields_new)
            return


def _breaking_input_field_changes(
    old: Mapping[str, tuple[str, bool]], new: Mapping[str, tuple[str, bool]]
) -> Iterator[str]:
    """Yield the changes of request fields that may break callers."""
    for name, (kind, required) in new.items():
        known = old.get(name)
        if required and (known is None or not known[1]):
            yield f"request field '{name}' is now required"
        elif known is not None and kind not in (known[0], _ANY_TYPE):
            yield f"request field '{name}' changed from {known[0]} to {kind}"
    yield from (f"request field '{name}' removed" for name in old if name not in new)


def _breaking_response_changes(
    old: Operation, new: Operation, resolve_old: Resolve, resolve_new: Resolve
) -> Iterator[str]:
    """Yield the changes of responses that may break callers."""
    after = {response.status: response for response in new.responses}
    for response in old.responses:
        if response.status.startswith(("4", "5")) or response.status == "default":
            continue
        if response.status not in after:
            yield f"response {response.status} removed"
            continue
        contents = {content.media_type: content.schema for content in after[response.status].contents}
        for content in response.contents:
            if content.media_type not in contents:
                yield f"response {response.status} no longer has the media type {content.media_type}"
                continue
            fields_old = _fields(content.schema, resolve_old)
            fields_new = _fields(contents[content.media_type], resolve_new)
            yield from _breaking_output_field_changes(response.status, fields_old, fields_new)


def _breaking_output_field_changes(
    status: str, old: Mapping[str, tuple[str, bool]], new: Mapping[str, tuple[str, bool]]
) -> Iterator[str]:
    """Yield the changes of response fields that may break callers."""
    for name, (kind, _) in old.items():
        if name not in new:
            yield f"response {status} field '{name}' removed"
        elif kind not in (new[name][0], _ANY_TYPE) and " | " not in new[name][0] + kind:
            yield f"response {status} field '{name}' changed from {kind} to {new[name][0]}"


def _fields(schema: Json, resolve: Resolve) -> dict[str, tuple[str, bool]]:
    """Return the type and the required flag of each field by dotted name, down to `MAX_DEPTH` nesting levels."""
    return dict(_walk_fields(schema, resolve, "", (), required=True))


def _walk_fields(
    schema: Json, resolve: Resolve, prefix: str, seen: tuple[int, ...], *, required: bool
) -> Iterable[tuple[str, tuple[str, bool]]]:
    """Yield the dotted name of each field with the type and the required flag of the field."""
    if len(seen) >= MAX_DEPTH:
        return
    for member in members_of(schema, resolve):
        name = f"{prefix}{member.name}"
        needed = required and member.required
        yield name, (label(member.schema, resolve), needed)
        yield from _walk_fields(member.schema, resolve, f"{name}.", (*seen, len(name)), required=needed)
