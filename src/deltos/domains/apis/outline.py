"""Schemas as compact typed outlines: required marked, enums and defaults shown, cycles cut with a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from deltos.domains.apis.model import Json
from deltos.domains.apis.prose import is_true, one_line
from deltos.domains.apis.refs import MAX_HOPS, names_type, reference_name

Resolve = Callable[[str], Json]
"""The value at a reference; None when it leads nowhere."""

MAX_ENUM_VALUES = 24
MAX_ENUM_CHARACTERS = 400
_LEAST_LINES_INSIDE = 4  # of a field that is opened in part
MAX_VALUE_CHARACTERS = 40
MAX_ALTERNATIVES = 6
MAX_REST_CHARACTERS = 240
_MAX_LABEL_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a schema is shown; `is_terse`: what is said of a field only where it is required."""

    depth: int = 2
    description_characters: int = 100
    lines: int = 80
    is_terse: bool = False


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One field of an object."""

    name: str
    schema: Json
    required: bool


def outline(schema: Json, resolve: Resolve, detail: Detail) -> list[str]:
    """The lines of a schema: as deep as the lines allow, what is required first, then the names of what is left."""
    for depth in range(detail.depth, 0, -1):
        lines = _bounded(_lines(schema, resolve, detail, depth, 0, ()), detail.lines)
        if len(lines) <= detail.lines:
            is_whole = depth == detail.depth or _alternatives(schema, resolve)
            return lines if is_whole else _opened(schema, resolve, detail)
    members = sorted(shown_members(schema, resolve), key=lambda member: not member.required)
    if len(members) <= detail.lines:
        return lines[: detail.lines]
    shown = members[: detail.lines - 1]
    names = one_line(", ".join(member.name for member in members[detail.lines - 1 :]), MAX_REST_CHARACTERS)
    rest = f"… and {len(members) - len(shown)} more: {names}"
    return [*(_member_line(member, resolve, detail, 0) for member in shown), rest]


def _opened(schema: Json, resolve: Resolve, detail: Detail) -> list[str]:
    """All fields of a schema, and inside as many of them as there is room for, what is required first."""
    members = shown_members(schema, resolve)
    room = detail.lines - len(members)
    inside: dict[str, list[str]] = {}
    for member in sorted(members, key=lambda member: not member.required):
        for depth in range(detail.depth, 1, -1):
            lines = _bounded(_nested(member, resolve, detail, depth, 0, ()), room)
            if len(lines) <= room:
                break
        if len(lines) > room:
            lines = _cut_lines(lines, member, resolve, room) if room >= _LEAST_LINES_INSIDE else []
        inside[member.name] = lines
        room -= len(lines)
    return [
        line for member in members for line in (_member_line(member, resolve, detail, 0), *inside.get(member.name, ()))
    ]


def _cut_lines(lines: list[str], member: SchemaField, resolve: Resolve, room: int) -> list[str]:
    """The first fields inside a field, and the names of the others."""
    fields = members_of(member.schema, resolve)
    shown = [line for line in lines if not line.startswith("    ")][: room - 1]
    names = one_line(", ".join(field.name for field in fields[len(shown) :]), MAX_REST_CHARACTERS)
    return [*shown, f"  … and {len(fields) - len(shown)} more: {names}"]


def members_of(schema: Json, resolve: Resolve) -> list[SchemaField]:
    """The fields of an object, those of `allOf` parts and of an array's items included."""
    found: dict[str, SchemaField] = {}
    _collect(schema, resolve, found, (), 0)
    return list(found.values())


def shown_members(schema: Json, resolve: Resolve) -> list[SchemaField]:
    """The fields of an object as its author orders them; those of a GraphQL input by how much a caller needs them:
    what is required, what is one of a few values, the rest."""
    members = members_of(schema, resolve)
    if not is_graphql_input(schema, resolve):
        return members
    return sorted(members, key=lambda member: (not member.required, not _is_one_of_few(member.schema, resolve)))


def is_graphql_input(schema: Json, resolve: Resolve) -> bool:
    """Whether a schema, or what its arrays hold, is an input object of GraphQL."""
    definition = _items_of(schema, resolve)
    return isinstance(definition, dict) and definition.get("x-kind") == "input"


def _is_one_of_few(schema: Json, resolve: Resolve) -> bool:
    definition = _items_of(schema, resolve)
    return isinstance(definition, dict) and isinstance(definition.get("enum"), list)


def _items_of(schema: Json, resolve: Resolve) -> Json:
    """What a schema refers to; of an array, what its items refer to."""
    schema = follow(schema, resolve)
    for _ in range(_MAX_LABEL_DEPTH):
        if not (isinstance(schema, dict) and "items" in schema):
            break
        schema = follow(schema["items"], resolve)
    return schema


def label(schema: Json, resolve: Resolve, depth: int = 0) -> str:
    """The type of a schema in a few words: `string(date-time)`, `array of Pet`, `a | b`."""
    if not isinstance(schema, dict) or depth > _MAX_LABEL_DEPTH:
        return "any"
    if isinstance(target := schema.get("$ref"), str):
        return _named(target, resolve, depth)
    for name in ("oneOf", "anyOf"):
        if isinstance(options := schema.get(name), list) and options:
            labels = dict.fromkeys(label(option, resolve, depth + 1) for option in options[: MAX_ALTERNATIVES + 1])
            shown = list(labels)[:MAX_ALTERNATIVES]
            return " | ".join(shown) + (" | …" if len(options) > len(shown) and len(labels) > MAX_ALTERNATIVES else "")
    if isinstance(parts := schema.get("allOf"), list) and parts:
        return _together([label(part, resolve, depth + 1) for part in parts[:3]])
    return _plain_label(schema, resolve, depth)


def _together(labels: Sequence[str]) -> str:
    """Types that hold at once: each once, and `object` only where nothing says more."""
    telling = dict.fromkeys(each for each in labels if each not in ("any", "object"))
    return " & ".join(telling) or ("object" if "object" in labels else "any")


def _named(target: str, resolve: Resolve, depth: int) -> str:
    """The name of a type, with its values where it is one of a few; what it is where it has no name."""
    if not names_type(target):
        return label(resolve(target), resolve, depth + 1)
    found = follow({"$ref": target}, resolve)
    if found is None and target.partition("#")[0]:
        return f"any (not read: {reference_name(target)})"
    values = found.get("enum") if isinstance(found, dict) else None
    name = reference_name(target)
    return f"{name} ({_enum(values)})" if isinstance(values, list) and values else name


def _plain_label(schema: dict[str, Json], resolve: Resolve, depth: int) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = "|".join(map(str, kind))
    if "enum" in schema and isinstance(schema["enum"], list):
        text = _enum(schema["enum"])
    elif "const" in schema:
        text = short_value(schema["const"])
    elif kind == "array" or (kind is None and "items" in schema):
        text = f"array of {label(schema.get('items'), resolve, depth + 1)}"
    elif isinstance(extra := schema.get("additionalProperties"), dict) and not schema.get("properties"):
        text = f"map of {label(extra, resolve, depth + 1)}"
    else:
        text = str(kind or ("object" if "properties" in schema else "any"))
        form = schema.get("format")
        text += f"({form})" if isinstance(form, str) and form != kind else ""
        text += _bounds(schema, "minimum", "maximum", "") or _bounds(schema, "minLength", "maxLength", " characters")
    return f"{text}|null" if is_true(schema.get("nullable")) else text


def _bounds(schema: dict[str, Json], least: str, most: str, unit: str) -> str:
    """How small and how large a value may be: ` 1..100`, ` ≤30000`; empty where nothing is said."""
    low, high = (short_value(value) if _is_number(value := schema.get(name)) else "" for name in (least, most))
    low = "" if unit and low in ("0", "1") else low  # that a text is not empty goes without saying
    if low and high:
        return f" {low}..{high}{unit}"
    return f" ≥{low}{unit}" if low else f" ≤{high}{unit}" if high else ""


def _is_number(value: Json) -> bool:
    """Whether a value is a number; JSON's true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def follow(schema: Json, resolve: Resolve) -> Json:
    """What a schema refers to, through at most a few hops."""
    for _ in range(MAX_HOPS):
        target = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(target, str):
            break
        schema = resolve(target)
    return schema


def _lines(
    schema: Json, resolve: Resolve, detail: Detail, depth: int, level: int, seen: tuple[str, ...]
) -> Iterator[str]:
    if alternatives := _alternatives(schema, resolve):
        for option in alternatives:
            yield f"{'  ' * level}one of: {label(option, resolve)}"
            if level < depth and (name := _name(option)) not in seen:
                yield from _lines(option, resolve, detail, depth, level + 1, (*seen, name) if name else seen)
        return
    for member in shown_members(schema, resolve):
        yield _member_line(member, resolve, detail, level)
        if level + 1 < depth:
            yield from _nested(member, resolve, detail, depth, level, seen)


def _nested(
    member: SchemaField, resolve: Resolve, detail: Detail, depth: int, level: int, seen: tuple[str, ...]
) -> Iterator[str]:
    """The fields inside a field; a type that is already open above is only named."""
    name = _name(member.schema)
    if name and name in seen:
        yield f"{'  ' * (level + 1)}(cycle: {name}, shown above)"
    elif not _alternatives(member.schema, resolve):
        yield from _lines(member.schema, resolve, detail, depth, level + 1, (*seen, name) if name else seen)


def _name(schema: Json) -> str:
    """The name of the type that a field holds, or that the items of its array have."""
    for _ in range(_MAX_LABEL_DEPTH):
        if not isinstance(schema, dict):
            return ""
        if isinstance(target := schema.get("$ref"), str):
            return reference_name(target)
        schema = schema.get("items")
    return ""


def _alternatives(schema: Json, resolve: Resolve) -> list[Json]:
    """The branches of a schema that is one of several and has no fields of its own."""
    schema = follow(schema, resolve)
    if not isinstance(schema, dict) or schema.get("properties"):
        return []
    for name in ("oneOf", "anyOf"):
        if isinstance(options := schema.get(name), list):
            return [option for option in options[:MAX_ALTERNATIVES] if isinstance(option, dict)]
    return []


def _collect(schema: Json, resolve: Resolve, found: dict[str, SchemaField], seen: tuple[str, ...], depth: int) -> None:
    if depth > MAX_HOPS or not isinstance(schema, dict):
        return
    if isinstance(target := schema.get("$ref"), str):
        if target not in seen:
            _collect(resolve(target), resolve, found, (*seen, target), depth + 1)
        return
    if isinstance(parts := schema.get("allOf"), list):
        for part in parts:
            _collect(part, resolve, found, seen, depth + 1)
    given = schema.get("required")
    required = dict.fromkeys(name for name in given if isinstance(name, str)) if isinstance(given, list) else {}
    extra = schema.get("additionalProperties")
    if isinstance(properties := schema.get("properties"), dict):
        for name, value in properties.items():
            found[name] = SchemaField(name, value, name in required or (name in found and found[name].required))
    for name in required:  # some are named only here
        known = found[name].schema if name in found else extra if isinstance(extra, dict) else {}
        found[name] = SchemaField(name, known, required=True)
    if "items" in schema:
        _collect(schema["items"], resolve, found, seen, depth + 1)
    if isinstance(extra, dict) and not found:
        _collect(extra, resolve, found, seen, depth + 1)


def _member_line(member: SchemaField, resolve: Resolve, detail: Detail, level: int) -> str:
    schema = member.schema if isinstance(member.schema, dict) else {}
    arguments = schema.get("x-arguments")
    name = f"{member.name}({one_line(arguments, 80)})" if isinstance(arguments, str) else member.name
    line = f"{'  ' * level}{name}{'*' if member.required else ''}: {label(schema, resolve)}"
    if schema.get("default") not in (None, ""):
        line += f" = {short_value(schema['default'])}"
    if is_true(schema.get("deprecated")):
        line += " (deprecated)"
    description = schema.get("description")
    is_described = bool(detail.description_characters) and (member.required or not detail.is_terse)
    if is_described and isinstance(description, str) and description.strip():
        line += f" — {one_line(description, detail.description_characters)}"
    return line


def _bounded(lines: Iterator[str], limit: int) -> list[str]:
    """At most one line more than `limit`: enough to see that there are too many."""
    kept = []
    for line in lines:
        kept.append(line)
        if len(kept) > limit:
            break
    return kept


def _enum(values: list[Json]) -> str:
    shown: list[str] = []
    for value in values[:MAX_ENUM_VALUES]:
        shown.append(short_value(value))
        if sum(map(len, shown)) > MAX_ENUM_CHARACTERS:
            break
    text = " | ".join(shown)
    return f"{text} | … ({len(values)} values)" if len(values) > len(shown) else text


def short_value(value: Json) -> str:
    """A default or an enum's value in a few characters."""
    if value is None or isinstance(value, bool):
        return str(value).lower() if value is not None else "null"
    if isinstance(value, (dict, list)):
        return "{…}" if isinstance(value, dict) else "[…]"
    return one_line(str(value), MAX_VALUE_CHARACTERS) or '""'
