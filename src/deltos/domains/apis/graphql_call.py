"""A GraphQL document for one operation: its required arguments as literals, and fields that can be asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.domains.apis.model import ApiParameter, Json, Operation
    from deltos.domains.apis.outline import Resolve

MAX_PLAIN_FIELDS = 5
MAX_INNER_FIELDS = 2  # fields with fields of their own, beside the plain ones
MAX_LEVELS = 4
MAX_INPUT_LEVELS = 12
_PAGE_SIZE = 10
_LITERALS: dict[str, Json] = {"integer": 1, "number": 1.5, "boolean": True, "string": "string", "ID": "ID"}
# Scalars that servers check, by the end of their name.
_SCALARS: tuple[tuple[str, Json], ...] = (
    ("datetime", "2024-01-01T00:00:00Z"),
    ("timestamp", "2024-01-01T00:00:00Z"),
    ("date", "2024-01-01"),
    ("time", "12:00:00Z"),
    ("uri", "https://example.com"),
    ("url", "https://example.com"),
    ("uuid", "00000000-0000-0000-0000-000000000000"),
    ("objectid", "0" * 40),
    ("base64string", "c3RyaW5n"),
    ("bigint", "1"),
    ("decimal", "1.50"),
    ("email", "user@example.com"),
)
_LEAVES = ("enum", "scalar")
# What tells one thing from another, and how it stands: schemas are often sorted by the alphabet.
_ASKED_FIRST = tuple("id number key slug login name fullName title url state status email message createdAt".split())
_SAYS_NOTHING = "clientMutationId"


def graphql_document(operation: Operation, resolve: Resolve) -> str:
    """`query { field(argument: value) { fields } }`."""
    arguments = [
        f"{each.name}: {_literal(each.schema, resolve, 0)}" for each in operation.parameters if each.required
    ] + _page_of(operation.parameters)
    fields = _selection(operation.responses[0].contents[0].schema, resolve, 0, ()) if operation.responses else ""
    given = f"({', '.join(arguments)})" if arguments else ""
    return f"{operation.method.lower()} {{ {operation.path}{given}{fields} }}"


def _page_of(parameters: Sequence[ApiParameter]) -> list[str]:
    """The size of a page, where pages can be asked for and none is given."""
    sizes = [each for each in parameters if each.name == "first" and _kind_of(each.schema) == "integer"]
    return [f"first: {_PAGE_SIZE}" for each in sizes if not each.required and "default" not in each.schema]


def _kind_of(schema: Json) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind if isinstance(kind, str) else ""


def _literal(schema: Json, resolve: Resolve, level: int) -> str:
    """A value as GraphQL writes it: names of enums and of fields without quotes."""
    if not isinstance(schema, dict):
        return "null"
    if _kind_of(schema) == "array":
        return f"[{_literal(schema.get('items'), resolve, level)}]"
    target = schema.get("$ref")
    if not isinstance(target, str):
        return json.dumps(_LITERALS.get(_kind_of(schema), "string"))
    found = resolve(target)
    definition = found if isinstance(found, dict) else {}
    match definition.get("x-kind"):
        case "enum":
            values = definition.get("enum")
            return str(values[0]) if isinstance(values, list) and values else "null"
        case "input":
            return _input(definition, resolve, level)
    name = target.rpartition("/")[2].lower()
    return json.dumps(next((value for ending, value in _SCALARS if name.endswith(ending)), "string"))


def _input(definition: dict[str, Json], resolve: Resolve, level: int) -> str:
    """An input object: what is required, or the first plain field where nothing is."""
    members, given = _members(definition), definition.get("required")
    required = given if isinstance(given, list) else []
    chosen = [name for name in members if name in required]
    if not chosen:
        plain = [name for name, member in members.items() if _is_leaf(member, resolve) and name != _SAYS_NOTHING]
        chosen = (plain or list(members))[:1]
    if level >= MAX_INPUT_LEVELS:
        return "{}"
    return "{" + ", ".join(f"{name}: {_literal(members[name], resolve, level + 1)}" for name in chosen) + "}"


def _definition(schema: Json, resolve: Resolve) -> tuple[str, dict[str, Json]]:
    """The named type that a field has, or the items of its list; empty for what GraphQL itself defines."""
    for _ in range(MAX_INPUT_LEVELS):
        if not isinstance(schema, dict):
            break
        if isinstance(target := schema.get("$ref"), str):
            found = resolve(target)
            return target, found if isinstance(found, dict) else {}
        schema = schema.get("items")
    return "", {}


def _members(definition: dict[str, Json]) -> dict[str, Json]:
    found = definition.get("properties")
    return found if isinstance(found, dict) else {}


def _is_leaf(schema: Json, resolve: Resolve) -> bool:
    target, definition = _definition(schema, resolve)
    return not target or definition.get("x-kind") in _LEAVES


def _selection(schema: Json, resolve: Resolve, level: int, seen: tuple[str, ...]) -> str:
    """The fields to ask of a type, in braces; nothing for a plain value."""
    target, definition = _definition(schema, resolve)
    if not target or definition.get("x-kind") in _LEAVES:
        return ""
    fields = list(_fields(_members(definition), resolve, level, (*seen, target)))
    return f" {{ {' '.join(fields) or '__typename'} }}"


def _fields(members: dict[str, Json], resolve: Resolve, level: int, seen: tuple[str, ...]) -> Iterator[str]:
    askable = {name: member for name, member in members.items() if not _needs_arguments(member)}
    pages = next((name for name in ("nodes", "edges", "node") if name in askable), "")
    if pages and level < 2 * MAX_LEVELS and not _is_leaf(askable[pages], resolve):
        yield f"{pages}{_selection(askable[pages], resolve, level + 1, seen)}"
        return
    plain = [name for name, member in askable.items() if _is_leaf(member, resolve) and name != _SAYS_NOTHING]
    yield from sorted(plain, key=_preference)[:MAX_PLAIN_FIELDS]
    if level and plain:
        return
    inner = [name for name, member in askable.items() if not _is_leaf(member, resolve)]
    open_ = [name for name in inner if _definition(askable[name], resolve)[0] not in seen]
    if level < MAX_LEVELS:
        for name in open_[: MAX_INNER_FIELDS if not plain else 0]:
            yield f"{name}{_page(askable[name])}{_selection(askable[name], resolve, level + 1, seen)}"


def _preference(name: str) -> int:
    return _ASKED_FIRST.index(name) if name in _ASKED_FIRST else len(_ASKED_FIRST)


def _arguments(member: Json) -> list[str]:
    text = member.get("x-arguments") if isinstance(member, dict) else None
    return text.split(", ") if isinstance(text, str) else []


def _needs_arguments(member: Json) -> bool:
    return any(argument.endswith("!") for argument in _arguments(member)) or bool(
        isinstance(member, dict) and member.get("deprecated")
    )


def _page(member: Json) -> str:
    return f"(first: {_PAGE_SIZE})" if "first: Int" in _arguments(member) else ""
