"""Build a GraphQL document for one operation: required arguments as literals, and fields that can be selected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.domains.apis.model import ApiParameter, Json, Operation
    from deltos.domains.apis.outline import Resolve

MAX_PLAIN_FIELDS = 5
MAX_INNER_FIELDS = 2  # fields of object type, selected if there are no plain ones
MAX_LEVELS = 4
MAX_INPUT_LEVELS = 12
_PAGE_SIZE = 10
_LITERALS: dict[str, Json] = {"integer": 1, "number": 1.5, "boolean": True, "string": "string", "ID": "ID"}
# Values of custom scalars that servers validate, by the end of the type name.
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
# Identifying and status fields come first, because schemas are often sorted alphabetically.
_PREFERRED_FIELDS = tuple(
    "id number key slug login name fullName title url state status email message createdAt".split()
)
_IGNORED_FIELD = "clientMutationId"


def graphql_document(operation: Operation, resolve: Resolve) -> str:
    """Return `query { field(argument: value) { fields } }`."""
    arguments = [
        f"{each.name}: {_literal(each.schema, resolve, 0)}" for each in operation.parameters if each.required
    ] + _page_size_argument(operation.parameters)
    fields = _selection(operation.responses[0].contents[0].schema, resolve, 0, ()) if operation.responses else ""
    given = f"({', '.join(arguments)})" if arguments else ""
    return f"{operation.method.lower()} {{ {operation.path}{given}{fields} }}"


def _page_size_argument(parameters: Sequence[ApiParameter]) -> list[str]:
    """Return the optional `first` argument, if there is one without a default."""
    sizes = [each for each in parameters if each.name == "first" and _kind_of(each.schema) == "integer"]
    return [f"first: {_PAGE_SIZE}" for each in sizes if not each.required and "default" not in each.schema]


def _kind_of(schema: Json) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind if isinstance(kind, str) else ""


def _literal(schema: Json, resolve: Resolve, level: int) -> str:
    """Return a GraphQL literal: enum values and field names are not quoted."""
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
    """Return an input object with its required fields, or with its first plain field if none is required."""
    members, given = _members(definition), definition.get("required")
    required = given if isinstance(given, list) else []
    chosen = [name for name in members if name in required]
    if not chosen:
        plain = [name for name, member in members.items() if _is_leaf(member, resolve) and name != _IGNORED_FIELD]
        chosen = (plain or list(members))[:1]
    if level >= MAX_INPUT_LEVELS:
        return "{}"
    return "{" + ", ".join(f"{name}: {_literal(members[name], resolve, level + 1)}" for name in chosen) + "}"


def _definition(schema: Json, resolve: Resolve) -> tuple[str, dict[str, Json]]:
    """Return the name and definition of a field's type, or of its list items; empty for GraphQL's built-in types."""
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
    """Return the fields to select from a type, in braces; empty for a scalar."""
    target, definition = _definition(schema, resolve)
    if not target or definition.get("x-kind") in _LEAVES:
        return ""
    fields = list(_fields(_members(definition), resolve, level, (*seen, target)))
    return f" {{ {' '.join(fields) or '__typename'} }}"


def _fields(members: dict[str, Json], resolve: Resolve, level: int, seen: tuple[str, ...]) -> Iterator[str]:
    queryable = {name: member for name, member in members.items() if not _needs_arguments(member)}
    pages = next((name for name in ("nodes", "edges", "node") if name in queryable), "")
    if pages and level < 2 * MAX_LEVELS and not _is_leaf(queryable[pages], resolve):
        yield f"{pages}{_selection(queryable[pages], resolve, level + 1, seen)}"
        return
    plain = [name for name, member in queryable.items() if _is_leaf(member, resolve) and name != _IGNORED_FIELD]
    yield from sorted(plain, key=_field_rank)[:MAX_PLAIN_FIELDS]
    if level and plain:
        return
    inner = [name for name, member in queryable.items() if not _is_leaf(member, resolve)]
    open_ = [name for name in inner if _definition(queryable[name], resolve)[0] not in seen]
    if level < MAX_LEVELS:
        for name in open_[: MAX_INNER_FIELDS if not plain else 0]:
            yield f"{name}{_page_size_of_field(queryable[name])}{_selection(queryable[name], resolve, level + 1, seen)}"


def _field_rank(name: str) -> int:
    """Return the position of a field in the order of preference."""
    return _PREFERRED_FIELDS.index(name) if name in _PREFERRED_FIELDS else len(_PREFERRED_FIELDS)


def _arguments(member: Json) -> list[str]:
    text = member.get("x-arguments") if isinstance(member, dict) else None
    return text.split(", ") if isinstance(text, str) else []


def _needs_arguments(member: Json) -> bool:
    return any(argument.endswith("!") for argument in _arguments(member)) or bool(
        isinstance(member, dict) and member.get("deprecated")
    )


def _page_size_of_field(member: Json) -> str:
    return f"(first: {_PAGE_SIZE})" if "first: Int" in _arguments(member) else ""
