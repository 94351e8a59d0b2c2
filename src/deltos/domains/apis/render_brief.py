"""Render operations and schemas briefly for lists of search results.

render.py renders them in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.budget import truncate
from deltos.domains.apis.outline import Detail, is_graphql_input, label, members_of, outline, short_value, shown_members
from deltos.domains.apis.render import auth_line, distinct_contents, example_if_short, success_responses
from deltos.domains.apis.spec_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltos.domains.apis.model import ApiParameter, Content, Json, Operation, Overview, Response
    from deltos.domains.apis.outline import Resolve

_MAX_DESCRIPTION_CHARACTERS = 240
_MAX_FIELD_CHARACTERS = 80
_MAX_RESPONSE_FIELDS = 16
_MAX_SIGNATURE_FIELDS = 14
_MAX_PARAMETERS = 30
# Levels of detail, most detailed first; the first level whose rendering fits the budget is used.
_DETAIL_LEVELS = (
    Detail(2, 100, 40),
    Detail(2, 60, 40),
    Detail(1, 60, 30),
    Detail(1, 60, 14, is_terse=True),
    Detail(1, 0, 20),
    Detail(1, 0, 8),
)
_MAX_SOURCE_CHARACTERS = 4_000  # longer descriptions are truncated before markup is removed


def operation_brief(operation: Operation, overview: Overview, resolve: Resolve, *, characters: int) -> str:
    """Render one operation with its parameters, response fields and an example call, in at most `characters`."""
    example = example_if_short(operation, overview, resolve, characters)
    text = ""
    for detail in _DETAIL_LEVELS:
        lines = [
            _title_line(operation),
            *_description_lines(operation),
            *_parameters(operation.parameters, resolve, detail),
            *_bodies(operation, resolve, detail),
            *_response_lines(operation.responses, resolve),
            *_server_and_auth(operation, overview),
            *([f"Example:\n{example}"] if example else []),
        ]
        text = "\n".join(lines)
        if len(text) <= characters:
            return text
    return truncate(text, characters=characters)


def operation_signature(operation: Operation, resolve: Resolve, *, characters: int) -> str:
    """Render one operation in one or two lines: its title, and the names and types of its inputs."""
    parts = [
        part for parameter in _required_first(operation.parameters) for part in _signature_parts(parameter, resolve)
    ]
    for content in operation.bodies[:1]:
        parts += [f"body {field}" for field in _fields(content.schema, resolve)] or [f"body {content.media_type}"]
    shown = parts[:_MAX_SIGNATURE_FIELDS]
    more = f", and {len(parts) - len(shown)} more" if len(parts) > len(shown) else ""
    line = "; ".join(_group_by_location(shown)) + more
    return "\n".join(filter(None, (_title_line(operation), one_line(line, characters))))


def schema_signature(name: str, schema: Json, resolve: Resolve, *, characters: int) -> str:
    """Render a schema in one line: the names and types of its fields."""
    fields = ", ".join(_fields(schema, resolve))
    return one_line(f"{name}: {fields or label(schema, resolve)}", characters)


def _title_line(operation: Operation) -> str:
    """Return the title of an operation: `METHOD path — summary`."""
    text = one_line(operation.summary, 140) or one_line(operation.description[:_MAX_SOURCE_CHARACTERS], 140)
    title = f"{one_line(operation.key, 200)} — {text}" if text else one_line(operation.key, 200)
    return f"{title} (deprecated)" if operation.deprecated else title


def _server_and_auth(operation: Operation, overview: Overview) -> list[str]:
    """Return a line with the server URL and the required authentication."""
    server = operation.server or (overview.servers[0] if overview.servers else "")
    auth = f"Auth: {auth_line(operation, overview)}"
    return [f"Server: {one_line(server, 200)} | {auth}" if server else auth]


def _description_lines(operation: Operation) -> list[str]:
    """Return the description of an operation without the summary at its beginning."""
    about = one_line(operation.description[:_MAX_SOURCE_CHARACTERS], _MAX_DESCRIPTION_CHARACTERS)
    summary = one_line(operation.summary, 140).rstrip(".…")
    rest = about.removeprefix(summary).lstrip(" .") if summary else ""
    return [rest] if rest else []


def _required_first(parameters: Iterable[ApiParameter]) -> list[ApiParameter]:
    """Return the parameters sorted, required parameters first."""
    return sorted(parameters, key=lambda parameter: not parameter.required)


def _parameters(parameters: Iterable[ApiParameter], resolve: Resolve, detail: Detail) -> list[str]:
    """Return a line for each parameter; required parameters come first and are marked with `*`."""
    ordered = _required_first(parameters)
    lines = []
    for parameter in ordered[:_MAX_PARAMETERS]:
        line = _parameter_line(parameter, resolve)
        text = one_line(parameter.description, min(detail.description_characters, _MAX_FIELD_CHARACTERS))
        lines.append(f"{line} — {text}" if detail.description_characters and text else line)
        lines += [f"  {inner}" for inner in outline(parameter.schema, resolve, detail)]
    if rest := ordered[_MAX_PARAMETERS:]:
        lines.append(f"… and {len(rest)} more: {one_line(', '.join(each.name for each in rest), 240)}")
    return lines


def _signature_parts(parameter: ApiParameter, resolve: Resolve) -> list[str]:
    """Return a parameter with its type or, for a GraphQL input object, each of its fields."""
    if not is_graphql_input(parameter.schema, resolve):
        return [_parameter_line(parameter, resolve)]
    return [f"argument {parameter.name}.{field}" for field in _fields(parameter.schema, resolve)]


def _parameter_line(parameter: ApiParameter, resolve: Resolve) -> str:
    """Return a parameter as `location name*: type = default`."""
    default = parameter.schema.get("default") if isinstance(parameter.schema, dict) else None
    kind = one_line(label(parameter.schema, resolve), 120)
    given = f" = {short_value(default)}" if default not in (None, "") else ""
    return f"{parameter.location} {one_line(parameter.name, 80)}{'*' if parameter.required else ''}: {kind}{given}"


def _bodies(operation: Operation, resolve: Resolve, detail: Detail) -> list[str]:
    """Return lines with the request bodies and their fields."""
    lines: list[str] = []
    required = ", required" if operation.body_required else ""
    for content in distinct_contents(operation.bodies)[:2]:
        lines.append(f"body ({content.media_type}{required}): {label(content.schema, resolve)}")
        lines += [f"  {line}" for line in outline(content.schema, resolve, detail)]
    if rest := operation.bodies[2:]:
        lines.append(f"… and as {one_line(', '.join(content.media_type for content in rest), 120)}")
    return lines


def _response_lines(responses: tuple[Response, ...], resolve: Resolve) -> list[str]:
    """Return lines with the success responses, their fields, and the other status codes."""
    success = success_responses(responses)
    lines = []
    for response in success[:2]:
        text = _content(response.contents, resolve) or one_line(response.description, 80)
        lines.append(f"→ {response.status} {text}".rstrip())
    if rest := [response.status for response in responses if response not in success[:2]]:
        lines[-1:] = [f"{lines[-1] if lines else '→'}; also {one_line(', '.join(rest), 80)}"]
    return lines


def _content(contents: tuple[Content, ...], resolve: Resolve) -> str:
    """Return the type and the field names of the first media type."""
    for content in contents[:1]:
        names = [member.name for member in members_of(content.schema, resolve)]
        more = ", …" if len(names) > _MAX_RESPONSE_FIELDS else ""
        fields = f" {{{', '.join(names[:_MAX_RESPONSE_FIELDS])}{more}}}" if names else ""
        return f"{label(content.schema, resolve)}{fields}" if content.schema else content.media_type
    return ""


def _fields(schema: Json, resolve: Resolve) -> list[str]:
    """Return the fields of an object with their types; required fields come first."""
    members = sorted(shown_members(schema, resolve), key=lambda member: not member.required)
    return [
        f"{member.name}{'*' if member.required else ''}: {one_line(label(member.schema, resolve), 80)}"
        for member in members
    ]


def _group_by_location(parts: list[str]) -> list[str]:
    """Join parameters by location, as in `path a*: string` and `body b: integer, c: string`."""
    groups: dict[str, list[str]] = {}
    for part in parts:
        location, _, rest = part.partition(" ")
        groups.setdefault(location, []).append(rest)
    return [f"{location} {', '.join(rest)}" for location, rest in groups.items()]
