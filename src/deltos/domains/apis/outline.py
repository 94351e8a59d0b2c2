"""Format schemas as compact outlines with types, required fields, enum values, defaults and cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from deltos.domains.apis.model import Json
from deltos.domains.apis.refs import MAX_HOPS, names_type, reference_name
from deltos.domains.apis.spec_text import is_flag_set, one_line

Resolve = Callable[[str], Json]
"""Resolves a reference to its value, or to None if the target does not exist."""

MAX_ENUM_VALUES = 24
MAX_ENUM_CHARACTERS = 400
MAX_VALUE_CHARACTERS = 40
MAX_ALTERNATIVES = 6
MAX_OMITTED_NAMES_CHARACTERS = 240
_MAX_LABEL_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Detail:
    """Level of detail of a formatted operation or schema.

    If `is_terse` is set, only required fields have descriptions. `text_characters` limits the main description.
    """

    depth: int = 2
    description_characters: int = 100
    lines: int = 80
    is_terse: bool = False
    text_characters: int = 4_000


@dataclass(frozen=True, slots=True)
class SchemaField:
    """A field of an object."""

    name: str
    schema: Json
    required: bool


def outline(schema: Json, resolve: Resolve, detail: Detail) -> list[str]:
    """Return a schema as lines, with as many nested levels as fit `detail.lines`.

    If not all fields fit, required fields come first, and the last line lists the omitted fields.
    """
    for depth in range(detail.depth, 0, -1):
        lines = _take_lines(_outline_lines(schema, resolve, detail, depth, 0, ()), detail.lines)
        if len(lines) <= detail.lines:
            return lines
    members = sorted(members_of(schema, resolve), key=lambda member: not member.required)
    if len(members) <= detail.lines:
        return lines[: detail.lines]
    shown = members[: detail.lines - 1]
    names = one_line(", ".join(member.name for member in members[detail.lines - 1 :]), MAX_OMITTED_NAMES_CHARACTERS)
    rest = f"… and {len(members) - len(shown)} more: {names}"
    return [*(_member_line(member, resolve, detail, 0) for member in shown), rest]


def members_of(schema: Json, resolve: Resolve) -> list[SchemaField]:
    """Return the fields of an object, including the fields in its `allOf` parts, or of the items of an array."""
    found: dict[str, SchemaField] = {}
    _collect_fields(schema, resolve, found, (), 0)
    return list(found.values())


def label(schema: Json, resolve: Resolve, depth: int = 0) -> str:
    """Return a short type label for a schema, such as `string(date-time)`, `array of Pet` or `a | b`."""
    if not isinstance(schema, dict) or depth > _MAX_LABEL_DEPTH:
        return "any"
    if isinstance(target := schema.get("$ref"), str):
        return _reference_label(target, resolve, depth)
    for name in ("oneOf", "anyOf"):
        if isinstance(options := schema.get(name), list) and options:
            labels = dict.fromkeys(label(option, resolve, depth + 1) for option in options[: MAX_ALTERNATIVES + 1])
            shown = list(labels)[:MAX_ALTERNATIVES]
            return " | ".join(shown) + (" | …" if len(options) > len(shown) and len(labels) > MAX_ALTERNATIVES else "")
    if isinstance(parts := schema.get("allOf"), list) and parts:
        return _intersection_label([label(part, resolve, depth + 1) for part in parts[:3]])
    return _plain_label(schema, resolve, depth)


def _intersection_label(labels: Sequence[str]) -> str:
    """Return the joined labels of `allOf` parts; `any` and `object` are omitted if other labels are more specific."""
    specific = dict.fromkeys(each for each in labels if each not in ("any", "object"))
    return " & ".join(specific) or ("object" if "object" in labels else "any")


def _reference_label(target: str, resolve: Resolve, depth: int) -> str:
    """Return the name of a referenced type with the enum values, or a type label if the type has no name."""
    if not names_type(target):
        return label(resolve(target), resolve, depth + 1)
    found = follow({"$ref": target}, resolve)
    if found is None and target.partition("#")[0]:
        return f"any (not read: {reference_name(target)})"
    values = found.get("enum") if isinstance(found, dict) else None
    name = reference_name(target)
    return f"{name} ({_enum_text(values)})" if isinstance(values, list) and values else name


def _plain_label(schema: dict[str, Json], resolve: Resolve, depth: int) -> str:
    """Return the type label of a schema that contains no reference and no combined schemas."""
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = "|".join(map(str, kind))
    if "enum" in schema and isinstance(schema["enum"], list):
        text = _enum_text(schema["enum"])
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
        text += _format_range(schema, "minimum", "maximum", "") or _format_range(
            schema, "minLength", "maxLength", " characters"
        )
    return f"{text}|null" if is_flag_set(schema.get("nullable")) else text


def _format_range(schema: dict[str, Json], minimum: str, maximum: str, unit: str) -> str:
    """Return the range of allowed values, such as ` 1..100` or ` ≤30000`; empty if it is unlimited."""
    low, high = (short_value(value) if _is_number(value := schema.get(name)) else "" for name in (minimum, maximum))
    low = "" if unit and low in ("0", "1") else low  # a minimum length of 0 or 1 is omitted
    if low and high:
        return f" {low}..{high}{unit}"
    return f" ≥{low}{unit}" if low else f" ≤{high}{unit}" if high else ""


def _is_number(value: Json) -> bool:
    """Whether a value is a number and not a boolean."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def follow(schema: Json, resolve: Resolve) -> Json:
    """Return a schema; if it is a reference, return the schema to which it refers.

    At most `MAX_HOPS` references are followed.
    """
    for _ in range(MAX_HOPS):
        target = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(target, str):
            break
        schema = resolve(target)
    return schema


def _outline_lines(
    schema: Json, resolve: Resolve, detail: Detail, depth: int, level: int, seen: tuple[str, ...]
) -> Iterator[str]:
    """Yield the lines of a schema down to the nesting level `depth`, indented by `level`."""
    if alternatives := _alternatives(schema, resolve):
        for option in alternatives:
            yield f"{'  ' * level}one of: {label(option, resolve)}"
            if level < depth and (name := _type_name(option)) not in seen:
                yield from _outline_lines(option, resolve, detail, depth, level + 1, (*seen, name) if name else seen)
        return
    for member in members_of(schema, resolve):
        yield _member_line(member, resolve, detail, level)
        if level + 1 < depth:
            yield from _nested_field_lines(member, resolve, detail, depth, level, seen)


def _nested_field_lines(
    member: SchemaField, resolve: Resolve, detail: Detail, depth: int, level: int, seen: tuple[str, ...]
) -> Iterator[str]:
    """Yield the lines of nested fields; the fields of a recursive type are listed only once."""
    name = _type_name(member.schema)
    if name and name in seen:
        yield f"{'  ' * (level + 1)}(cycle: {name}, shown above)"
    elif not _alternatives(member.schema, resolve):
        yield from _outline_lines(member.schema, resolve, detail, depth, level + 1, (*seen, name) if name else seen)


def _type_name(schema: Json) -> str:
    """Return the name of the type of a field or of its array items; empty if the type has no name."""
    for _ in range(_MAX_LABEL_DEPTH):
        if not isinstance(schema, dict):
            return ""
        if isinstance(target := schema.get("$ref"), str):
            return reference_name(target)
        schema = schema.get("items")
    return ""


def _alternatives(schema: Json, resolve: Resolve) -> list[Json]:
    """Return the alternatives of a `oneOf` or `anyOf` schema that has no fields of its own."""
    schema = follow(schema, resolve)
    if not isinstance(schema, dict) or schema.get("properties"):
        return []
    for name in ("oneOf", "anyOf"):
        if isinstance(options := schema.get(name), list):
            return [option for option in options[:MAX_ALTERNATIVES] if isinstance(option, dict)]
    return []


def _collect_fields(
    schema: Json, resolve: Resolve, found: dict[str, SchemaField], seen: tuple[str, ...], depth: int
) -> None:
    """Add the fields of a schema to `found`, by name."""
    if depth > MAX_HOPS or not isinstance(schema, dict):
        return
    if isinstance(target := schema.get("$ref"), str):
        if target not in seen:
            _collect_fields(resolve(target), resolve, found, (*seen, target), depth + 1)
        return
    if isinstance(parts := schema.get("allOf"), list):
        for part in parts:
            _collect_fields(part, resolve, found, seen, depth + 1)
    given = schema.get("required")
    required = dict.fromkeys(name for name in given if isinstance(name, str)) if isinstance(given, list) else {}
    extra = schema.get("additionalProperties")
    if isinstance(properties := schema.get("properties"), dict):
        for name, value in properties.items():
            found[name] = SchemaField(name, value, name in required or (name in found and found[name].required))
    for name in required:  # some fields are listed only in `required`
        known = found[name].schema if name in found else extra if isinstance(extra, dict) else {}
        found[name] = SchemaField(name, known, required=True)
    if "items" in schema:
        _collect_fields(schema["items"], resolve, found, seen, depth + 1)
    if isinstance(extra, dict) and not found:
        _collect_fields(extra, resolve, found, seen, depth + 1)


def _member_line(member: SchemaField, resolve: Resolve, detail: Detail, level: int) -> str:
    """Return a field as a line: `name*: type = default — description`."""
    schema = member.schema if isinstance(member.schema, dict) else {}
    arguments = schema.get("x-arguments")
    name = f"{member.name}({one_line(arguments, 80)})" if isinstance(arguments, str) else member.name
    line = f"{'  ' * level}{name}{'*' if member.required else ''}: {label(schema, resolve)}"
    if schema.get("default") not in (None, ""):
        line += f" = {short_value(schema['default'])}"
    if is_flag_set(schema.get("deprecated")):
        line += " (deprecated)"
    description = schema.get("description")
    is_described = bool(detail.description_characters) and (member.required or not detail.is_terse)
    if is_described and isinstance(description, str) and description.strip():
        line += f" — {one_line(description, detail.description_characters)}"
    return line


def _take_lines(lines: Iterator[str], limit: int) -> list[str]:
    """Return at most `limit` + 1 lines, so that the caller can detect whether there are more than `limit`."""
    kept = []
    for line in lines:
        kept.append(line)
        if len(kept) > limit:
            break
    return kept


def _enum_text(values: list[Json]) -> str:
    """Return enum values as text: `a | b | … (30 values)`."""
    shown: list[str] = []
    for value in values[:MAX_ENUM_VALUES]:
        shown.append(short_value(value))
        if sum(map(len, shown)) > MAX_ENUM_CHARACTERS:
            break
    text = " | ".join(shown)
    return f"{text} | … ({len(values)} values)" if len(values) > len(shown) else text


def short_value(value: Json) -> str:
    """Return a default or enum value as a short string."""
    if value is None or isinstance(value, bool):
        return str(value).lower() if value is not None else "null"
    if isinstance(value, (dict, list)):
        return "{…}" if isinstance(value, dict) else "[…]"
    return one_line(str(value), MAX_VALUE_CHARACTERS) or '""'
