"""Format operations and schemas briefly for lists of search results. The module `render` formats them in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.apis.outline import is_graphql_input, label, short_value, shown_members
from deltos.domains.apis.render import title_line
from deltos.domains.apis.spec_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltos.domains.apis.model import ApiParameter, Json, Operation
    from deltos.domains.apis.outline import Resolve

_MAX_SIGNATURE_FIELDS = 14


def operation_signature(operation: Operation, resolve: Resolve, *, characters: int) -> str:
    """Format one operation in one or two lines: the title, and the names and types of inputs."""
    parts = [
        part for parameter in _required_first(operation.parameters) for part in _signature_parts(parameter, resolve)
    ]
    for content in operation.bodies[:1]:
        parts += [f"body {field}" for field in _fields(content.schema, resolve)] or [f"body {content.media_type}"]
    shown = parts[:_MAX_SIGNATURE_FIELDS]
    more = f", and {len(parts) - len(shown)} more" if len(parts) > len(shown) else ""
    line = "; ".join(_group_by_location(shown)) + more
    return "\n".join(filter(None, (title_line(operation), one_line(line, characters))))


def schema_signature(name: str, schema: Json, resolve: Resolve, *, characters: int) -> str:
    """Format a schema in one line: the names and types of the fields."""
    fields = ", ".join(_fields(schema, resolve))
    return one_line(f"{name}: {fields or label(schema, resolve)}", characters)


def _required_first(parameters: Iterable[ApiParameter]) -> list[ApiParameter]:
    """Return the parameters sorted so that required parameters come first."""
    return sorted(parameters, key=lambda parameter: not parameter.required)


def _signature_parts(parameter: ApiParameter, resolve: Resolve) -> list[str]:
    """Return a parameter with its type or, for a GraphQL input object, each field of the object."""
    if not is_graphql_input(parameter.schema, resolve):
        return [_parameter_line(parameter, resolve)]
    return [f"argument {parameter.name}.{field}" for field in _fields(parameter.schema, resolve)]


def _parameter_line(parameter: ApiParameter, resolve: Resolve) -> str:
    """Return a parameter as `location name*: type = default`."""
    default = parameter.schema.get("default") if isinstance(parameter.schema, dict) else None
    kind = one_line(label(parameter.schema, resolve), 120)
    given = f" = {short_value(default)}" if default not in (None, "") else ""
    return f"{parameter.location} {one_line(parameter.name, 80)}{'*' if parameter.required else ''}: {kind}{given}"


def _fields(schema: Json, resolve: Resolve) -> list[str]:
    """Return the fields of an object with field types; required fields come first."""
    members = sorted(shown_members(schema, resolve), key=lambda member: not member.required)
    return [
        f"{member.name}{'*' if member.required else ''}: {one_line(label(member.schema, resolve), 80)}"
        for member in members
    ]


def _group_by_location(parts: list[str]) -> list[str]:
    """Join parameters that have the same location, as in `path a*: string` and `body b: integer, c: string`."""
    groups: dict[str, list[str]] = {}
    for part in parts:
        location, _, rest = part.partition(" ")
        groups.setdefault(location, []).append(rest)
    return [f"{location} {', '.join(rest)}" for location, rest in groups.items()]
