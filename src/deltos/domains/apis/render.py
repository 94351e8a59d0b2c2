"""APIs in Markdown for a reader with a budget. What an API's author wrote stands inside a fence."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltos.domains.apis.example import example_call
from deltos.domains.apis.model import GRAPHQL_DATA
from deltos.domains.apis.outline import Detail, label, outline, short_value
from deltos.domains.apis.prose import first_sentence, one_line, plain
from deltos.domains.apis.refs import reference_name
from deltos.markup.text import fenced
from deltos.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.apis.model import (
        Api,
        ApiChanges,
        ApiParameter,
        Content,
        Json,
        Operation,
        Overview,
        Response,
    )
    from deltos.domains.apis.outline import Resolve
    from deltos.store.apis import UnitRow

OPERATION_CHARACTERS = 16_000
SUMMARY_CHARACTERS = 100
TAGS_LISTED = 12
WARNINGS_LISTED = 3
CHANGES_LISTED = 100
# From generous to terse: the first that fits is shown.
DETAILS = (
    Detail(depth=4, description_characters=200, lines=400),
    Detail(depth=3, description_characters=140, lines=160),
    Detail(depth=3, description_characters=60, lines=140),
    Detail(depth=2, description_characters=100, lines=90),
    Detail(depth=2, description_characters=60, lines=60),
    Detail(depth=1, description_characters=60, lines=45),
    Detail(depth=1, description_characters=40, lines=28),
    Detail(depth=1, description_characters=0, lines=25),
    Detail(depth=1, description_characters=0, lines=10),
    Detail(depth=1, description_characters=0, lines=4),
)
_DESCRIPTION_CHARACTERS = (4_000, 2_000, 1_600, 1_200, 800, 600, 500, 300, 200, 100)
_EXAMPLE_SHARE = 0.7
_GRAPH_DEPTH = 2
_GRAPH_LINES = 40
_LEFT_OUT = "… and "
_READ_CHARACTERS = 10_000


@dataclass(frozen=True, slots=True)
class Rendered:
    """A text, and whether something had to be left out of it."""

    text: str
    shortened: bool


def fence(text: str, language: str = "quoted") -> str:
    """Text inside a fence that nothing in it can close."""
    return fenced(text, language, mark="~")


def operation_line(unit: UnitRow) -> str:
    """`METHOD path — summary`."""
    line = f"{unit.method} {unit.path} — {one_line(unit.title, SUMMARY_CHARACTERS)}"
    return f"{line} (deprecated)" if unit.deprecated else line


def render_operation(
    operation: Operation,
    overview: Overview,
    resolve: Resolve,
    *,
    citation: str,
    characters: int = OPERATION_CHARACTERS,
) -> Rendered:
    """One operation: parameters, bodies, responses, auth and an example call, in at most `characters`."""
    example = fitting_example(operation, overview, resolve, characters)
    frame = [
        f"### {one_line(operation.key, 200)}",
        f"Source: {citation}{operation.pointer}",
        f"Auth: {auth_line(operation, overview)}",
        *([fence(example, "bash")] if example else []),
    ]
    room = characters - sum(len(part) + 2 for part in frame) - 30
    inside = _fitting(operation, resolve, room)
    frame.insert(2, fence(inside.text))
    return Rendered("\n\n".join(frame), inside.shortened)


def operation_text(operation: Operation, overview: Overview, resolve: Resolve, *, characters: int) -> str:
    """One operation as plain text; the caller fences and cites it."""
    example = fitting_example(operation, overview, resolve, characters)
    tail = "\n\n".join([f"Auth: {auth_line(operation, overview)}", *([f"Example:\n{example}"] if example else [])])
    head = one_line(operation.key, 200)
    inside = _fitting(operation, resolve, characters - len(head) - len(tail) - 4)
    return "\n\n".join([head, inside.text, tail])


def fitting_example(operation: Operation, overview: Overview, resolve: Resolve, characters: int) -> str:
    """A call, unless it would take most of the room: half of one works nowhere."""
    example = example_call(operation, overview, resolve)
    return example if len(example) <= characters * _EXAMPLE_SHARE else ""


def _fitting(operation: Operation, resolve: Resolve, room: int) -> Rendered:
    text = whole = ""
    for detail, description_characters in zip(DETAILS, _DESCRIPTION_CHARACTERS, strict=True):
        text = "\n\n".join(_sections(operation, resolve, detail, description_characters))
        whole = whole or text
        if len(text) <= room:
            return Rendered(text, shortened=text != whole or _LEFT_OUT in text)
    return Rendered(text[: max(0, room - 8)].rsplit("\n", 1)[0] + "\n… (cut)", shortened=True)


def _sections(operation: Operation, resolve: Resolve, detail: Detail, description_characters: int) -> list[str]:
    summary = one_line(operation.summary, 200)
    description = plain(operation.description[:_READ_CHARACTERS]).strip()
    sections = ["(deprecated)"] if operation.deprecated else []
    if not " ".join(description.split()).startswith(summary.rstrip("…")):
        sections.append(summary)
    if description:
        sections.append(_shortened(description, description_characters))
    if operation.tags:
        sections.append(f"Tags: {one_line(', '.join(operation.tags), 200)}")
    if operation.parameters:
        sections.append(_parameters(operation.parameters, resolve, detail))
    if operation.bodies:
        sections.append(_bodies(operation, resolve, detail))
    sections.extend(_responses(operation.responses, resolve, detail))
    return sections


def _shortened(text: str, characters: int) -> str:
    text = re.sub(r"\n\s+", "\n", text[:_READ_CHARACTERS])
    if len(text) <= characters:
        return text
    return text[: characters - 1].rsplit(" ", 1)[0] + "…"


def _parameters(parameters: Sequence[ApiParameter], resolve: Resolve, detail: Detail) -> str:
    """A table of parameters, the required first; `*` marks them."""
    ordered = sorted(parameters, key=lambda parameter: not parameter.required)
    shown = ordered if len(ordered) <= detail.lines else ordered[: detail.lines - 1]
    described = bool(detail.description_characters)
    rows = [
        f"| parameter | in | type |{' description |' if described else ''}",
        f"|---|---|---|{'---|' if described else ''}",
    ]
    for parameter in shown:
        kind = _cell(_typed(parameter.schema, resolve), 120)
        name = _cell(parameter.name, 80) + ("*" if parameter.required else "")
        row = f"| {name} | {parameter.location} | {kind} |"
        rows.append(f"{row} {_cell(parameter.description, detail.description_characters)} |" if described else row)
    if len(shown) < len(ordered):
        names = ", ".join(parameter.name for parameter in ordered[len(shown) :])
        rows.append(f"{_LEFT_OUT}{len(ordered) - len(shown)} more: {one_line(names, 240)}")
    for parameter in shown:
        if lines := outline(parameter.schema, resolve, detail):
            rows.append(f"{_cell(parameter.name, 80)}: {_cell(label(parameter.schema, resolve), 120)}")
            rows += [f"  {line}" for line in lines]
    return "\n".join(["Parameters (* required):", *rows])


def _typed(schema: Json, resolve: Resolve) -> str:
    default = schema.get("default") if isinstance(schema, dict) else None
    return label(schema, resolve) + (f" = {short_value(default)}" if default not in (None, "") else "")


def _cell(text: str, characters: int) -> str:
    return one_line(text, characters).replace("|", "\\|") if text and characters else ""


def _bodies(operation: Operation, resolve: Resolve, detail: Detail) -> str:
    required = ", required" if operation.body_required else ""
    parts = []
    for index, content in enumerate(distinct_contents(operation.bodies)):
        if index < 3:
            parts.append(_content(f"Request body ({content.media_type}{required})", content, resolve, detail))
    if len(operation.bodies) > 3:
        rest = ", ".join(content.media_type for content in operation.bodies[3:])
        parts.append(f"{_LEFT_OUT}{len(operation.bodies) - 3} more bodies: {one_line(rest, 240)}")
    return "\n\n".join(parts)


def _content(heading: str, content: Content, resolve: Resolve, detail: Detail) -> str:
    kind = label(content.schema, resolve) if content.schema else ""
    lines = outline(content.schema, resolve, detail)
    return "\n".join([f"{heading}{f': {kind}' if kind else ''}", *(f"  {line}" for line in lines)])


def distinct_contents(contents: Iterable[Content]) -> list[Content]:
    """Contents of one schema under several media types count once."""
    kept: list[Content] = []
    for content in contents:
        if all(content.schema != other.schema for other in kept):
            kept.append(content)
    return kept


def _responses(responses: Sequence[Response], resolve: Resolve, detail: Detail) -> list[str]:
    """What comes back when all goes well in full, the rest in one line.

    A type of GraphQL leads to nearly all others: its fields and theirs are enough.
    """
    good = good_responses(responses)
    sections = []
    before: list[tuple[str, Json]] = []
    for response in good[:3]:
        heading = f"Response {response.status}"
        if response.description:
            heading += f" — {one_line(response.description, 80)}"
        contents = distinct_contents(response.contents)[:2]
        shown = []
        for content in contents:
            known = next((status for status, schema in before if schema == content.schema), "")
            titled = f"{heading} ({content.media_type})".replace(" ()", "")
            bounded = _of_graph(detail) if response.status == GRAPHQL_DATA else detail
            shown.append(f"{titled}: as {known}" if known else _content(titled, content, resolve, bounded))
            before.append((response.status, content.schema))
        sections.extend(shown or [heading])
    rest = [response for response in responses if response not in good[:3]]
    if rest:
        sections.append("Also: " + one_line("; ".join(map(_response_in_short, rest)), 500))
    return sections


def _of_graph(detail: Detail) -> Detail:
    return replace(detail, depth=min(detail.depth, _GRAPH_DEPTH), lines=min(detail.lines, _GRAPH_LINES))


def good_responses(responses: Sequence[Response]) -> list[Response]:
    """What comes back when all goes well; else what comes back by default."""
    good = [
        response
        for response in responses
        if not response.status.startswith(("4", "5")) and response.status != "default"
    ]
    return good or [response for response in responses if response.status == "default"]


def _response_in_short(response: Response) -> str:
    named = {
        reference_name(content.schema["$ref"])
        for content in response.contents
        if isinstance(content.schema, dict) and isinstance(content.schema.get("$ref"), str)
    }
    kind = f" ({', '.join(sorted(named))})" if named else ""
    return f"{response.status} {one_line(response.description, 60)}{kind}"


def auth_line(operation: Operation, overview: Overview) -> str:
    """How to prove who calls: alternatives joined by `or`."""
    if not operation.security:
        return "none stated"
    schemes = {scheme.name: scheme for scheme in overview.security_schemes}
    ways = []
    for need in operation.security:
        names = []
        for name in need:
            scheme = schemes.get(name)
            how = " ".join(filter(None, (scheme.kind, scheme.scheme))) if scheme else ""
            place = f" in {scheme.location} '{scheme.parameter}'" if scheme and scheme.parameter else ""
            names.append(f"{one_line(name, 60)} ({how}{place})" if how else one_line(name, 60))
        ways.append(" and ".join(names) or "no auth")
    return one_line(" or ".join(ways), 400)


def render_schema(
    name: str,
    schema: Json,
    resolve: Resolve,
    *,
    description: str = "",
    characters: int = OPERATION_CHARACTERS,
) -> str:
    """One schema as an outline, in at most `characters`."""
    text = ""
    for detail, description_characters in zip(DETAILS, _DESCRIPTION_CHARACTERS, strict=True):
        kind = label(schema, resolve)
        lines = [
            f"{name}: {kind}" if kind != name else name,
            *(f"  {line}" for line in outline(schema, resolve, detail)),
        ]
        about = _shortened(plain(description[:_READ_CHARACTERS]).strip(), description_characters)
        text = "\n".join([*([about] if about else []), *lines])
        if len(text) <= characters:
            return text
    return text[: max(0, characters - 8)] + "\n… (cut)"


def render_api(api: Api, tags: Sequence[str]) -> str:
    """One API in a few lines, for the list of all."""
    overview = api.overview
    counts = f"{counted(api.operation_count, 'operation')}, {counted(api.schema_count, 'schema')}"
    if api.webhook_count:
        counts += f", {counted(api.webhook_count, 'webhook')}"
    head = f"- {api.name} {one_line(overview.version, 40)} ({overview.kind}): {counts}".replace("  ", " ")
    about = one_line(first_sentence(overview.description) or overview.title, 140)
    lines = [f"{head} — {about}" if about else head]
    if tags:
        more = f", … ({len(tags)} tags)" if len(tags) > TAGS_LISTED else ""
        lines.append(f"  tags: {one_line(', '.join(tags[:TAGS_LISTED]), 300)}{more}")
    lines.extend(f"  warning: {one_line(warning, 200)}" for warning in api.warnings[:WARNINGS_LISTED])
    if len(api.warnings) > WARNINGS_LISTED:
        lines.append(f"  {_LEFT_OUT}{len(api.warnings) - WARNINGS_LISTED} more warnings")
    return "\n".join(lines)


def render_unread(document: str, reason: str) -> str:
    """A document that is not in the index, and why."""
    return f"not read: {one_line(document, 120)}: {one_line(reason, 300)}"


def render_overview(api: Api, groups: Sequence[tuple[str, int]]) -> str:
    """What an API is, where it lives and how it is divided."""
    overview = api.overview
    lines = [f"{overview.title or api.name} {overview.version} ({overview.kind})".replace("  ", " ")]
    if overview.description:
        lines.append(_shortened(plain(overview.description[:_READ_CHARACTERS]).strip(), 1_500))
    if overview.servers:
        lines.append(f"Servers: {', '.join(overview.servers[:5])}")
    for scheme in overview.security_schemes[:8]:
        place = f" in {scheme.location} '{scheme.parameter}'" if scheme.parameter else ""
        about = f" — {one_line(scheme.description, 120)}" if scheme.description else ""
        lines.append(f"Auth: {scheme.name} ({' '.join(filter(None, (scheme.kind, scheme.scheme)))}{place}){about}")
    lines.append(f"Groups: {one_line(', '.join(f'{name} ({count})' for name, count in groups), 1_000)}")
    return "\n".join(lines)


def render_changes(changes: ApiChanges) -> str:
    """What a new reading of an API changed; what breaks callers is marked."""
    found = changes.changes
    versions = f"{changes.old_version} → {changes.new_version}" if changes.old_version != changes.new_version else ""
    if changes.note:
        return f"{changes.api_name} {versions}: {changes.note}".replace(" :", ":")
    if not (found or changes.schemas_added or changes.schemas_removed):
        return f"{changes.api_name} {versions}: no operation changed".replace("  ", " ").replace(" :", ":")
    counted = {what: sum(change.what == what for change in found) for what in ("added", "removed", "changed")}
    breaking = sum(bool(change.breaking) for change in found)
    head = f"{changes.api_name} {versions}: " + ", ".join(f"{count} {what}" for what, count in counted.items())
    lines = [f"{head} operations; {breaking} breaking".replace("  ", " ").replace(" :", ":")]
    signs = {"added": "+", "removed": "-", "changed": "~"}
    ordered = sorted(found, key=lambda change: not change.breaking)
    for change in ordered[:CHANGES_LISTED]:
        why = " BREAKING: " + one_line("; ".join(change.breaking), 400) if change.breaking else ""
        lines.append(f"{signs[change.what]} {one_line(change.key, 160)}{why}")
    if len(found) > CHANGES_LISTED:
        lines.append(f"{_LEFT_OUT}{len(found) - CHANGES_LISTED} more")
    if changes.schemas_added or changes.schemas_removed:
        lines.append(f"schemas: {len(changes.schemas_added)} added, {len(changes.schemas_removed)} removed")
    return "\n".join(lines)
