"""Format APIs as Markdown within a budget; text from API descriptions is put into code fences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import structs

from deltos.budget import truncate
from deltos.domains.apis.example import example_call
from deltos.domains.apis.outline import Detail, label, outline, short_value
from deltos.domains.apis.refs import reference_name
from deltos.domains.apis.spec_text import first_sentence, one_line, strip_markup
from deltos.markup.text import fenced
from deltos.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.apis.model import (
        Api,
        ApiParameter,
        Content,
        Json,
        Operation,
        Overview,
        Response,
    )
    from deltos.domains.apis.outline import Resolve
    from deltos.store.apis import UnitRow

MAX_OPERATION_CHARACTERS = 16_000
MAX_SUMMARY_CHARACTERS = 100
MAX_TAGS_SHOWN = 12
MAX_WARNINGS_SHOWN = 3
# Levels of detail, most detailed first; the first level at which the text fits the budget is used.
DETAIL_LEVELS = (
    Detail(depth=4, description_characters=200, lines=400, text_characters=4_000),
    Detail(depth=3, description_characters=140, lines=160, text_characters=2_000),
    Detail(depth=3, description_characters=60, lines=140, text_characters=1_600),
    Detail(depth=2, description_characters=100, lines=90, text_characters=1_200),
    Detail(depth=2, description_characters=60, lines=60, text_characters=800),
    Detail(depth=1, description_characters=60, lines=45, text_characters=500),
    Detail(depth=1, description_characters=60, lines=14, text_characters=300, is_terse=True),
    Detail(depth=1, description_characters=0, lines=25, text_characters=300),
    Detail(depth=1, description_characters=0, lines=10, text_characters=200),
    Detail(depth=1, description_characters=0, lines=4, text_characters=100),
)
_MAX_EXAMPLE_SHARE = 0.7  # maximum share of the budget that the example call may use
_OMITTED_PREFIX = "… and "
_MAX_SOURCE_CHARACTERS = 10_000  # longer descriptions are truncated before markup is removed


@dataclass(frozen=True, slots=True)
class Rendered:
    """A formatted text, and whether it was shortened."""

    text: str
    shortened: bool


def fence(text: str, language: str = "quoted") -> str:
    """Return text in a code fence that the text itself cannot close."""
    return fenced(text, language, mark="~")


def operation_line(unit: UnitRow) -> str:
    """Return a stored operation as a line: `METHOD path — summary`."""
    line = f"{unit.method} {unit.path} — {one_line(unit.title, MAX_SUMMARY_CHARACTERS)}"
    return f"{line} (deprecated)" if unit.deprecated else line


def render_operation(
    operation: Operation,
    overview: Overview,
    resolve: Resolve,
    *,
    citation: str,
    characters: int = MAX_OPERATION_CHARACTERS,
) -> Rendered:
    """Format one operation with inputs, responses, authentication and an example call, within `characters`."""
    example = example_if_short(operation, overview, resolve, characters)
    frame = [
        f"### {one_line(operation.key, 200)}",
        f"Source: {citation}{operation.pointer}",
        f"Auth: {auth_line(operation, overview)}",
        *([fence(example, "bash")] if example else []),
    ]
    max_length = characters - sum(len(part) + 2 for part in frame) - 30
    inside = _fit_sections(operation, resolve, max_length)
    frame.insert(2, fence(inside.text))
    return Rendered("\n\n".join(frame), inside.shortened)


def operation_text(operation: Operation, overview: Overview, resolve: Resolve, *, characters: int) -> str:
    """Format one operation as plain text, without code fence and citation."""
    example = example_if_short(operation, overview, resolve, characters)
    tail = [f"Auth: {auth_line(operation, overview)}", *([f"Example:\n{example}"] if example else [])]
    head = title_line(operation)
    summary, description = operation.summary.strip().rstrip(".…"), operation.description.strip()
    if summary and description.startswith(summary):
        description = description[len(summary) :].lstrip(" .")
    untitled = structs.replace(operation, summary="", description=description, tags=(), deprecated=False)
    inside = _fit_sections(untitled, resolve, characters - sum(map(len, (head, *tail))) - 4)
    return "\n".join(filter(None, (head, inside.text, *tail)))


def title_line(operation: Operation) -> str:
    """Return the title of an operation: `METHOD path — summary`."""
    text = one_line(operation.summary, 140) or one_line(operation.description[:_MAX_SOURCE_CHARACTERS], 140)
    title = f"{one_line(operation.key, 200)} — {text}" if text else one_line(operation.key, 200)
    return f"{title} (deprecated)" if operation.deprecated else title


def example_if_short(operation: Operation, overview: Overview, resolve: Resolve, characters: int) -> str:
    """Return an example call, or "" if it has more than `characters`, because a truncated call would not work."""
    example = example_call(operation, overview, resolve)
    return example if len(example) <= characters * _MAX_EXAMPLE_SHARE else ""


def _fit_sections(operation: Operation, resolve: Resolve, max_length: int) -> Rendered:
    """Format the sections of an operation at the highest level of detail that fits `max_length` characters."""
    text = whole = ""
    for detail in DETAIL_LEVELS:
        text = "\n\n".join(_sections(operation, resolve, detail))
        whole = whole or text
        if len(text) <= max_length:
            return Rendered(text, shortened=text != whole or _OMITTED_PREFIX in text)
    return Rendered(truncate(text, characters=max_length), shortened=True)


def _sections(operation: Operation, resolve: Resolve, detail: Detail) -> list[str]:
    """Return the summary, description, tags, inputs and responses of an operation, each as text."""
    summary = one_line(operation.summary, 200)
    description = strip_markup(operation.description[:_MAX_SOURCE_CHARACTERS]).strip()
    sections = ["(deprecated)"] if operation.deprecated else []
    if not " ".join(description.split()).startswith(summary.rstrip("…")):
        sections.append(summary)
    if description:
        sections.append(_shorten_description(description, detail.text_characters))
    if operation.tags:
        sections.append(f"Tags: {one_line(', '.join(operation.tags), 200)}")
    if operation.parameters:
        sections.append(_parameters(operation.parameters, resolve, detail))
    if operation.bodies:
        sections.append(_bodies(operation, resolve, detail))
    sections.extend(_responses(operation.responses, resolve, detail))
    return sections


def _shorten_description(text: str, characters: int) -> str:
    """Return a description without blank lines, truncated to `characters`."""
    text = re.sub(r"\n\s+", "\n", text[:_MAX_SOURCE_CHARACTERS])
    if len(text) <= characters:
        return text
    return text[: characters - 1].rsplit(" ", 1)[0] + "…"


def _parameters(parameters: Sequence[ApiParameter], resolve: Resolve, detail: Detail) -> str:
    """Format a table of parameters; required parameters come first and are marked with `*`."""
    ordered = sorted(parameters, key=lambda parameter: not parameter.required)
    shown = ordered if len(ordered) <= detail.lines else ordered[: detail.lines - 1]
    described = bool(detail.description_characters)
    rows = [
        f"| parameter | in | type |{' description |' if described else ''}",
        f"|---|---|---|{'---|' if described else ''}",
    ]
    for parameter in shown:
        kind = _cell(_type_label(parameter.schema, resolve), 120)
        name = _cell(parameter.name, 80) + ("*" if parameter.required else "")
        row = f"| {name} | {parameter.location} | {kind} |"
        rows.append(f"{row} {_cell(parameter.description, detail.description_characters)} |" if described else row)
    if len(shown) < len(ordered):
        names = ", ".join(parameter.name for parameter in ordered[len(shown) :])
        rows.append(f"{_OMITTED_PREFIX}{len(ordered) - len(shown)} more: {one_line(names, 240)}")
    for parameter in shown:
        if lines := outline(parameter.schema, resolve, detail):
            rows.append(f"{_cell(parameter.name, 80)}: {_cell(label(parameter.schema, resolve), 120)}")
            rows += [f"  {line}" for line in lines]
    return "\n".join(["Parameters (* required):", *rows])


def _type_label(schema: Json, resolve: Resolve) -> str:
    """Return the type of a parameter, followed by the default value if there is one."""
    default = schema.get("default") if isinstance(schema, dict) else None
    return label(schema, resolve) + (f" = {short_value(default)}" if default not in (None, "") else "")


def _cell(text: str, characters: int) -> str:
    """Return text truncated and escaped for a table cell."""
    return one_line(text, characters).replace("|", "\\|") if text and characters else ""


def _bodies(operation: Operation, resolve: Resolve, detail: Detail) -> str:
    """Format the first request bodies, and list the media types of the other request bodies."""
    required = ", required" if operation.body_required else ""
    parts = []
    for index, content in enumerate(distinct_contents(operation.bodies)):
        if index < 3:
            parts.append(_content(f"Request body ({content.media_type}{required})", content, resolve, detail))
    if len(operation.bodies) > 3:
        rest = ", ".join(content.media_type for content in operation.bodies[3:])
        parts.append(f"{_OMITTED_PREFIX}{len(operation.bodies) - 3} more bodies: {one_line(rest, 240)}")
    return "\n\n".join(parts)


def _content(heading: str, content: Content, resolve: Resolve, detail: Detail) -> str:
    """Format the type and fields of a request or response body under a heading."""
    kind = label(content.schema, resolve) if content.schema else ""
    lines = outline(content.schema, resolve, detail)
    return "\n".join([f"{heading}{f': {kind}' if kind else ''}", *(f"  {line}" for line in lines)])


def distinct_contents(contents: Iterable[Content]) -> list[Content]:
    """Return the bodies with distinct schemas; a schema that several media types share is returned once."""
    kept: list[Content] = []
    for content in contents:
        if all(content.schema != other.schema for other in kept):
            kept.append(content)
    return kept


def _responses(responses: Sequence[Response], resolve: Resolve, detail: Detail) -> list[str]:
    """Format success responses in full, and the other responses in one line."""
    success = success_responses(responses)
    sections = []
    before: list[tuple[str, Json]] = []
    for response in success[:3]:
        heading = f"Response {response.status}"
        if response.description:
            heading += f" — {one_line(response.description, 80)}"
        contents = distinct_contents(response.contents)[:2]
        shown = []
        for content in contents:
            known = next((status for status, schema in before if schema == content.schema), "")
            titled = f"{heading} ({content.media_type})".replace(" ()", "")
            shown.append(f"{titled}: as {known}" if known else _content(titled, content, resolve, detail))
            before.append((response.status, content.schema))
        sections.extend(shown or [heading])
    rest = [response for response in responses if response not in success[:3]]
    if rest:
        sections.append("Also: " + one_line("; ".join(map(_response_summary, rest)), 500))
    return sections


def success_responses(responses: Sequence[Response]) -> list[Response]:
    """Return the success responses, or the default response if there are none."""
    success = [
        response
        for response in responses
        if not response.status.startswith(("4", "5")) and response.status != "default"
    ]
    return success or [response for response in responses if response.status == "default"]


def _response_summary(response: Response) -> str:
    """Return the status, description and type names of a response as one line."""
    named = {
        reference_name(content.schema["$ref"])
        for content in response.contents
        if isinstance(content.schema, dict) and isinstance(content.schema.get("$ref"), str)
    }
    kind = f" ({', '.join(sorted(named))})" if named else ""
    return f"{response.status} {one_line(response.description, 60)}{kind}"


def auth_line(operation: Operation, overview: Overview) -> str:
    """Return the required authentication as text, with `or` between alternative schemes."""
    if not operation.security:
        return "not specified"
    schemes = {scheme.name: scheme for scheme in overview.security_schemes}
    ways = []
    for need in operation.security:
        names = []
        for name in need:
            scheme = schemes.get(name)
            how = " ".join(filter(None, (scheme.kind, scheme.scheme))) if scheme else ""
            where = f" in {scheme.location} '{scheme.parameter}'" if scheme and scheme.parameter else ""
            names.append(f"{one_line(name, 60)} ({how}{where})" if how else one_line(name, 60))
        ways.append(" and ".join(names) or "no auth")
    return one_line(" or ".join(ways), 400)


def render_schema(
    name: str,
    schema: Json,
    resolve: Resolve,
    *,
    description: str = "",
    characters: int = MAX_OPERATION_CHARACTERS,
) -> str:
    """Format one schema as an outline, in at most `characters`."""
    text = ""
    for detail in DETAIL_LEVELS:
        kind = label(schema, resolve)
        lines = [
            f"{name}: {kind}" if kind != name else name,
            *(f"  {line}" for line in outline(schema, resolve, detail)),
        ]
        about = _shorten_description(strip_markup(description[:_MAX_SOURCE_CHARACTERS]).strip(), detail.text_characters)
        text = "\n".join([*([about] if about else []), *lines])
        if len(text) <= characters:
            return text
    return truncate(text, characters=characters)


def render_api(api: Api, tags: Sequence[str]) -> str:
    """Format one API in a few lines for the list of APIs."""
    overview = api.overview
    counts = f"{counted(api.operation_count, 'operation')}, {counted(api.schema_count, 'schema')}"
    if api.webhook_count:
        counts += f", {counted(api.webhook_count, 'webhook')}"
    head = f"- {api.name} {one_line(overview.version, 40)} ({overview.kind}): {counts}".replace("  ", " ")
    about = one_line(first_sentence(overview.description) or overview.title, 140)
    lines = [f"{head} — {about}" if about else head]
    if tags:
        more = f", … ({len(tags)} tags)" if len(tags) > MAX_TAGS_SHOWN else ""
        lines.append(f"  tags: {one_line(', '.join(tags[:MAX_TAGS_SHOWN]), 300)}{more}")
    lines.extend(f"  warning: {one_line(warning, 200)}" for warning in api.warnings[:MAX_WARNINGS_SHOWN])
    if len(api.warnings) > MAX_WARNINGS_SHOWN:
        lines.append(f"  {_OMITTED_PREFIX}{len(api.warnings) - MAX_WARNINGS_SHOWN} more warnings")
    return "\n".join(lines)


def render_unread(document: str, reason: str) -> str:
    """Return a line about a document that could not be read, with the reason."""
    return f"not read: {one_line(document, 120)}: {one_line(reason, 300)}"


def render_overview(api: Api, groups: Sequence[tuple[str, int]]) -> str:
    """Format the title, servers, authentication and operation groups of an API."""
    overview = api.overview
    lines = [f"{overview.title or api.name} {overview.version} ({overview.kind})".replace("  ", " ")]
    if overview.description:
        lines.append(_shorten_description(strip_markup(overview.description[:_MAX_SOURCE_CHARACTERS]).strip(), 1_500))
    if overview.servers:
        lines.append(f"Servers: {', '.join(overview.servers[:5])}")
    for scheme in overview.security_schemes[:8]:
        where = f" in {scheme.location} '{scheme.parameter}'" if scheme.parameter else ""
        about = f" — {one_line(scheme.description, 120)}" if scheme.description else ""
        lines.append(f"Auth: {scheme.name} ({' '.join(filter(None, (scheme.kind, scheme.scheme)))}{where}){about}")
    lines.append(f"Groups: {one_line(', '.join(f'{name} ({count})' for name, count in groups), 1_000)}")
    return "\n".join(lines)
