"""What a call of an operation needs, for whoever chooses among several: no tables, no repetition.

`render` shows an operation in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.apis.outline import Detail, is_graphql_input, label, members_of, outline, short_value, shown_members
from deltos.domains.apis.prose import one_line
from deltos.domains.apis.render import auth_line, distinct_contents, fitting_example, good_responses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltos.domains.apis.model import ApiParameter, Content, Json, Operation, Overview, Response
    from deltos.domains.apis.outline import Resolve

_ABOUT_CHARACTERS = 240
_FIELD_CHARACTERS = 80
_FIELDS_OF_ANSWER = 16
_SIGNATURE_FIELDS = 14
_MOST_PARAMETERS = 30
# From generous to terse: the first that fits is shown.
_BODIES = (
    Detail(2, 100, 40),
    Detail(2, 60, 40),
    Detail(1, 60, 30),
    Detail(1, 60, 14, is_terse=True),
    Detail(1, 0, 20),
    Detail(1, 0, 8),
)
_READ_CHARACTERS = 4_000


def operation_brief(operation: Operation, overview: Overview, resolve: Resolve, *, characters: int) -> str:
    """One operation: what it does, what it takes, what comes back in a line, and an example call."""
    example = fitting_example(operation, overview, resolve, characters)
    text = ""
    for detail in _BODIES:
        lines = [
            _title(operation),
            *_about(operation),
            *_parameters(operation.parameters, resolve, detail),
            *_bodies(operation, resolve, detail),
            *_answers(operation.responses, resolve),
            *_where(operation, overview),
            *([f"Example:\n{example}"] if example else []),
        ]
        text = "\n".join(lines)
        if len(text) <= characters:
            return text
    return text[: max(0, characters - 8)].rsplit("\n", 1)[0] + "\n… (cut)"


def operation_signature(operation: Operation, resolve: Resolve, *, characters: int) -> str:
    """One operation in a line or two: what it does, and what it takes by name and type."""
    takes = [taken for parameter in _required_first(operation.parameters) for taken in _takes(parameter, resolve)]
    for content in operation.bodies[:1]:
        takes += [f"body {field}" for field in _fields(content.schema, resolve)] or [f"body {content.media_type}"]
    shown = takes[:_SIGNATURE_FIELDS]
    more = f", and {len(takes) - len(shown)} more" if len(takes) > len(shown) else ""
    line = "; ".join(_grouped(shown)) + more
    return "\n".join(filter(None, (_title(operation), one_line(line, characters))))


def schema_signature(name: str, schema: Json, resolve: Resolve, *, characters: int) -> str:
    """A schema in a line: its fields by name and type."""
    fields = ", ".join(_fields(schema, resolve))
    return one_line(f"{name}: {fields or label(schema, resolve)}", characters)


def _title(operation: Operation) -> str:
    said = one_line(operation.summary, 140) or one_line(operation.description[:_READ_CHARACTERS], 140)
    title = f"{one_line(operation.key, 200)} — {said}" if said else one_line(operation.key, 200)
    return f"{title} (deprecated)" if operation.deprecated else title


def _where(operation: Operation, overview: Overview) -> list[str]:
    """Where the path begins, and how to prove who calls."""
    server = operation.server or (overview.servers[0] if overview.servers else "")
    auth = f"Auth: {auth_line(operation, overview)}"
    return [f"Server: {one_line(server, 200)} | {auth}" if server else auth]


def _about(operation: Operation) -> list[str]:
    """The description, as far as the summary does not say it."""
    about = one_line(operation.description[:_READ_CHARACTERS], _ABOUT_CHARACTERS)
    summary = one_line(operation.summary, 140).rstrip(".…")
    rest = about.removeprefix(summary).lstrip(" .") if summary else ""
    return [rest] if rest else []


def _required_first(parameters: Iterable[ApiParameter]) -> list[ApiParameter]:
    return sorted(parameters, key=lambda parameter: not parameter.required)


def _parameters(parameters: Iterable[ApiParameter], resolve: Resolve, detail: Detail) -> list[str]:
    """A line for each parameter, the required first; `*` marks them."""
    ordered = _required_first(parameters)
    lines = []
    for parameter in ordered[:_MOST_PARAMETERS]:
        line = _taken(parameter, resolve)
        said = one_line(parameter.description, min(detail.description_characters, _FIELD_CHARACTERS))
        lines.append(f"{line} — {said}" if detail.description_characters and said else line)
        lines += [f"  {inner}" for inner in outline(parameter.schema, resolve, detail)]
    if rest := ordered[_MOST_PARAMETERS:]:
        lines.append(f"… and {len(rest)} more: {one_line(', '.join(each.name for each in rest), 240)}")
    return lines


def _takes(parameter: ApiParameter, resolve: Resolve) -> list[str]:
    """A parameter by name and type; of a GraphQL input its fields."""
    if not is_graphql_input(parameter.schema, resolve):
        return [_taken(parameter, resolve)]
    return [f"argument {parameter.name}.{field}" for field in _fields(parameter.schema, resolve)]


def _taken(parameter: ApiParameter, resolve: Resolve) -> str:
    default = parameter.schema.get("default") if isinstance(parameter.schema, dict) else None
    kind = one_line(label(parameter.schema, resolve), 120)
    given = f" = {short_value(default)}" if default not in (None, "") else ""
    return f"{parameter.location} {one_line(parameter.name, 80)}{'*' if parameter.required else ''}: {kind}{given}"


def _bodies(operation: Operation, resolve: Resolve, detail: Detail) -> list[str]:
    lines: list[str] = []
    required = ", required" if operation.body_required else ""
    for content in distinct_contents(operation.bodies)[:2]:
        lines.append(f"body ({content.media_type}{required}): {label(content.schema, resolve)}")
        lines += [f"  {line}" for line in outline(content.schema, resolve, detail)]
    if rest := operation.bodies[2:]:
        lines.append(f"… and as {one_line(', '.join(content.media_type for content in rest), 120)}")
    return lines


def _answers(responses: tuple[Response, ...], resolve: Resolve) -> list[str]:
    """What comes back when all goes well, by the names of its fields; then the other statuses."""
    good = good_responses(responses)
    lines = []
    for response in good[:2]:
        said = _content(response.contents, resolve) or one_line(response.description, 80)
        lines.append(f"→ {response.status} {said}".rstrip())
    if rest := [response.status for response in responses if response not in good[:2]]:
        lines[-1:] = [f"{lines[-1] if lines else '→'}; else {one_line(', '.join(rest), 80)}"]
    return lines


def _content(contents: tuple[Content, ...], resolve: Resolve) -> str:
    for content in contents[:1]:
        names = [member.name for member in members_of(content.schema, resolve)]
        more = ", …" if len(names) > _FIELDS_OF_ANSWER else ""
        fields = f" {{{', '.join(names[:_FIELDS_OF_ANSWER])}{more}}}" if names else ""
        return f"{label(content.schema, resolve)}{fields}" if content.schema else content.media_type
    return ""


def _fields(schema: Json, resolve: Resolve) -> list[str]:
    """The fields of an object by name and type, the required first."""
    members = sorted(shown_members(schema, resolve), key=lambda member: not member.required)
    return [
        f"{member.name}{'*' if member.required else ''}: {one_line(label(member.schema, resolve), 80)}"
        for member in members
    ]


def _grouped(takes: list[str]) -> list[str]:
    """`path a*: string`, `body b: integer, c: string`: where each stands is said once."""
    groups: dict[str, list[str]] = {}
    for taken in takes:
        where, _, rest = taken.partition(" ")
        groups.setdefault(where, []).append(rest)
    return [f"{where} {', '.join(rest)}" for where, rest in groups.items()]
