"""Generate sample values for schemas: a documented example that fits, or required fields with placeholders."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from deltos.domains.apis.refs import MAX_HOPS, reference_name
from deltos.domains.apis.spec_text import is_flag_set, mapping, sequence, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.domains.apis.model import Json
    from deltos.domains.apis.outline import Resolve

MAX_SAMPLE_LEVELS = 24
MAX_STEPS = 4_000  # maximum number of schema parts visited for one sample
MAX_DOCUMENTED_VALUE_CHARACTERS = 700  # documented examples with more characters are not used
MAX_PATTERN_CHARACTERS = 80  # regular expressions with more characters are not shown as placeholders
MAX_ITEMS = 50  # maximum number of list items or alternatives considered
MAX_NUMBER_CHARACTERS = 40
MAX_LIMIT = 1e15  # limits with a larger absolute value are ignored
MAX_LENGTH = 1_000  # maximum number of characters of a string, and maximum number of fields of an object

# Sample strings by the suffix of a format or GraphQL scalar name; the first matching suffix is used.
_TEXT_BY_FORMAT = {
    **dict.fromkeys(("date-time", "datetime", "timestamp"), "2024-01-01T00:00:00Z"),
    "date": "2024-01-01",
    "unix-time": "1704067200",
    "time": "12:00:00Z",
    "duration": "PT1H",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "email": "user@example.com",
    **dict.fromkeys(("uri", "url"), "https://example.com"),
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "cidr": "192.0.2.0/24",
    **dict.fromkeys(("byte", "base64string"), "c3RyaW5n"),
    **dict.fromkeys(("int32", "int64", "bigint", "decimal"), "1"),
}
_WELL_KNOWN_VALUES: dict[str, Json] = {
    "Timestamp": "2024-01-01T00:00:00Z",
    "Duration": "1s",
    "FieldMask": "name",
    "Struct": {"key": "string"},
    "Value": "string",
    "ListValue": ["string"],
    "Empty": {},
    "Any": {"@type": "type.googleapis.com/google.protobuf.Empty", "value": {}},
    "BoolValue": True,
    "StringValue": "string",
    "BytesValue": "c3RyaW5n",
    **dict.fromkeys(("Int32Value", "UInt32Value", "Int64Value", "UInt64Value", "FloatValue", "DoubleValue"), 1),
}
_WELL_KNOWN_PREFIX = "#/google.protobuf."
_CHOICES_KEY = "x-choices"  # key in merged schemas that contains the alternatives of each `oneOf` and `anyOf`
_JSON_TYPE_BY_CLASS: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}
_KIND_BY_KEYWORD = {
    **dict.fromkeys(("properties", "additionalProperties", "required", "minProperties"), "object"),
    "items": "array",
    **dict.fromkeys(("pattern", "minLength", "maxLength"), "string"),
    **dict.fromkeys(("minimum", "maximum"), "number"),
}


class Sampler:
    """Returns sample values for the schemas of one API. The number of visited schema parts is limited."""

    def __init__(self, resolve: Resolve) -> None:
        self.resolve = resolve
        self._steps = MAX_STEPS

    def value(self, schema: Json, seen: tuple[str, ...] = ()) -> Json:
        """Return a sample value for a schema, or an empty object inside a recursive schema."""
        target = schema.get("$ref") if isinstance(schema, dict) else None
        if isinstance(target, str):
            if target in seen or len(seen) >= MAX_SAMPLE_LEVELS:
                return {}
            if (name := target.removeprefix(_WELL_KNOWN_PREFIX)) != target and name in _WELL_KNOWN_VALUES:
                return _WELL_KNOWN_VALUES[name]
            seen = (*seen, target)
        flat = self.merge_parts(schema)
        for documented in self.fitting_values(documented_values(flat), flat):
            return documented
        if choices := flat.pop(_CHOICES_KEY, None):
            return self._option_value(flat, choices, seen)
        match kind_of_value(flat):
            case "array":
                return self._array_value(flat, seen)
            case "integer" | "number":
                return _number_value(flat)
            case "boolean":
                return True
            case "null":
                return None
            case "object":
                return self._object_value(flat, seen)
            case "" if not flat.get("format"):
                return self._object_value(flat, seen)
        return _text_value(flat)

    def fitting_values(self, values: Iterable[Json], schema: Json) -> Iterator[Json]:
        """Yield the short documented values that fit the schema, converted to the types in the schema."""
        for given in values:
            value = self._convert_types(given, schema)
            if len(json.dumps(value, default=str)) <= MAX_DOCUMENTED_VALUE_CHARACTERS and self.conforms(value, schema):
                yield value

    def merge_parts(self, schema: Json) -> dict[str, Json]:
        """Return a schema with references resolved and `allOf` parts merged."""
        found: dict[str, Json] = {}
        pending = [schema]
        known: set[str] = set()
        while pending and self._steps > 0:
            part = pending.pop(0)
            if not isinstance(part, dict):
                continue
            self._steps -= 1
            target = part.get("$ref")
            if isinstance(target, str) and target not in known and len(known) < MAX_HOPS * MAX_HOPS:
                known.add(target)
                pending.insert(0, self.resolve(target))
            _merge_schema_part(found, part)
            pending.extend(sequence(part.get("allOf"))[:MAX_ITEMS])
        return found

    def conforms(self, value: Json, schema: Json, depth: int = 0) -> bool:
        """Whether a value fits the types, enumerations and required fields of a schema."""
        self._steps -= 1
        if not isinstance(schema, dict) or depth > MAX_SAMPLE_LEVELS or self._steps <= 0:
            return True
        flat = self.merge_parts(schema)
        if value is None and is_flag_set(flat.get("nullable")):
            return True
        inner: Iterable[tuple[Json, Json]] = ()
        if isinstance(value, list):
            inner = ((part, flat.get("items")) for part in value[:MAX_ITEMS])
        elif isinstance(value, dict):
            members, extra = mapping(flat.get("properties")), flat.get("additionalProperties")
            is_closed = extra in (False, "false")
            missing = [name for name in sequence(flat.get("required")) if name not in value]
            if any(not self._is_read_only(members.get(name)) for name in missing):
                return False
            if is_closed and value.keys() - members.keys():
                return False
            inner = ((part, members.get(name, extra)) for name, part in value.items())
        return (
            _fits_type(value, flat)
            and all(self.conforms(part, part_schema, depth + 1) for part, part_schema in inner)
            and all(
                any(self.conforms(value, option, depth + 1) for option in options[:MAX_ITEMS])
                for options in flat.get(_CHOICES_KEY, [])
            )
        )

    def _convert_types(self, value: Json, schema: Json, depth: int = 0) -> Json:
        """Convert a documented value to the types in the schema, and drop read-only fields."""
        # The parser returns YAML scalars as text.
        flat = self.merge_parts(schema)
        if isinstance(value, list) and depth < MAX_SAMPLE_LEVELS:
            return [self._convert_types(part, flat.get("items"), depth + 1) for part in value[:MAX_ITEMS]]
        if not isinstance(value, dict) or depth >= MAX_SAMPLE_LEVELS:
            return coerce_to_type(value, flat)
        members = mapping(flat.get("properties"))
        for option in (option for options in flat.get(_CHOICES_KEY, ()) for option in options[:MAX_ITEMS]):
            members = {**mapping(self.merge_parts(option).get("properties")), **members}
        return {
            name: self._convert_types(part, members.get(name), depth + 1)
            for name, part in value.items()
            if not self._is_read_only(members.get(name))
        }

    def _is_read_only(self, schema: Json) -> bool:
        """Whether a schema has the flag `readOnly`."""
        return isinstance(schema, dict) and is_flag_set(self.merge_parts(schema).get("readOnly"))

    def _option_value(self, flat: dict[str, Json], choices: list[list[Json]], seen: tuple[str, ...]) -> Json:
        """Return a value of the first schema alternative that is neither null nor recursive."""
        usable = (one for one in choices[0] if one.get("type") != "null" and text_of(one.get("$ref")) not in seen)
        chosen: dict[str, Json] = next(usable, {})
        value = self.value({"allOf": [flat, chosen, *(options[0] for options in choices[1:])]}, seen)
        target, key = text_of(chosen.get("$ref")), text_of(mapping(flat.get("discriminator")).get("propertyName"))
        if not (key and target and isinstance(value, dict)):
            return value
        names = mapping(mapping(flat.get("discriminator")).get("mapping"))
        named = (name for name, mapped in names.items() if mapped == target)
        return {**value, key: next(named, value.get(key, reference_name(target)))}

    def _object_value(self, flat: dict[str, Json], seen: tuple[str, ...]) -> Json:
        """Return a sample object with the required fields or, if no field is required, with one optional field."""
        members, extra = mapping(flat.get("properties")), flat.get("additionalProperties")
        required = dict.fromkeys(name for name in sequence(flat.get("required")) if isinstance(name, str))
        writable = [name for name, part in members.items() if not self._is_read_only(part)]
        chosen = [name for name in required if name in writable or name not in members]
        chosen = chosen or sorted(writable, key=lambda name: self._is_compound(members[name]))[:1]
        return {name: self._nested_value(members.get(name, extra), seen) for name in chosen[:MAX_LENGTH]}

    def _is_compound(self, schema: Json) -> bool:
        """Whether a field is too complex for an example: it is an object or a list, or has no type."""
        return kind_of_value(self.merge_parts(schema)) in ("object", "array", "")

    def _nested_value(self, schema: Json, seen: tuple[str, ...]) -> Json:
        """Return a sample value for a field or list item."""
        value = self.value(schema, seen) if isinstance(schema, dict) and self._steps > 0 else "string"
        return "string" if value == {} and not kind_of_value(self.merge_parts(schema)) else value

    def _array_value(self, flat: dict[str, Json], seen: tuple[str, ...]) -> Json:
        """Return a sample list with one item, or with more items if `minItems` requires them."""
        minimum, items = min(int(_limit(flat, "minItems") or 0), MAX_ITEMS), flat.get("items")
        if not minimum and isinstance(items, dict) and items.get("$ref") in seen:
            return []
        return [self._nested_value(items, seen)] * max(minimum, 1)


def _number_value(flat: dict[str, Json]) -> float:
    """Return the number 1, or the limit of the schema that is nearest to it."""
    number = max(1.0, _limit(flat, "minimum") or 1.0, (_limit(flat, "exclusiveMinimum") or 0.0) + 1)
    maximum = _limit(flat, "maximum")
    number = number if maximum is None else min(number, maximum)
    return int(number) if number.is_integer() else number


def _text_value(flat: dict[str, Json]) -> str:
    """Return a placeholder for the string format within the length limits, or the pattern that must match."""
    length, most = int(_limit(flat, "minLength") or 0), int(_limit(flat, "maxLength") or MAX_LENGTH)
    given = "byte" if flat.get("type") == "bytes" else text_of(flat.get("format"))
    pattern = text_of(flat.get("pattern"))
    if pattern and not given and len(pattern) <= MAX_PATTERN_CHARACTERS:
        return f"<{pattern}>"
    text = next((text for name, text in _TEXT_BY_FORMAT.items() if given.lower().endswith(name)), "string")
    return text.ljust(min(length, MAX_LENGTH), "x")[:most]


def _limit(flat: dict[str, Json], name: str) -> float | None:
    """Return a limit such as `minLength`, even if YAML parsed it as text, or None if it is not a usable number."""
    try:
        number = float(str(flat.get(name))[:MAX_NUMBER_CHARACTERS])
    except ValueError:
        return None
    return number if abs(number) < MAX_LIMIT else None


def _fits_type(value: Json, flat: dict[str, Json]) -> bool:
    """Whether a value has the type and one of the fixed values that a merged schema requires."""
    kinds, own = _allowed_types(flat), _JSON_TYPE_BY_CLASS.get(type(value), "")
    # The declared type has no JSON type, such as `file`, `bytes` or `ID`.
    is_other_text = own == "string" and not kinds & set(_JSON_TYPE_BY_CLASS.values())
    if kinds and own not in kinds and not is_other_text and not (own == "integer" and "number" in kinds):
        return False
    fixed = [*sequence(flat.get("enum")), *([flat["const"]] if "const" in flat else [])]
    return not fixed or value in [coerce_to_type(each, flat) for each in fixed]


def coerce_to_type(value: Json, schema: dict[str, Json]) -> Json:
    """Return a scalar converted to the type of its schema."""
    # The parser returns YAML scalars as text.
    kinds = _allowed_types(schema)
    if isinstance(value, (int, float)) and kinds == {"string"}:
        return str(value).lower() if isinstance(value, bool) else str(value)
    if not isinstance(value, str) or not kinds or "string" in kinds:
        return value
    try:
        found = json.loads(value.lower() if "boolean" in kinds else value)
    except (ValueError, RecursionError):
        return value
    if isinstance(found, float) and "integer" in kinds and found.is_integer():
        return int(found)
    return found if not isinstance(found, float) or math.isfinite(found) else value


def kind_of_value(flat: dict[str, Json]) -> str:
    """Return the type of a merged schema; if no type is given, infer it from other keywords."""
    kind = flat.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if isinstance(kind, str) and kind != "any":
        return kind
    return next((kind for keyword, kind in _KIND_BY_KEYWORD.items() if keyword in flat), "")


def _allowed_types(flat: dict[str, Json]) -> set[str]:
    """Return the allowed types in a merged schema; empty if every type is allowed."""
    kind = flat.get("type")
    return {each for each in (kind if isinstance(kind, list) else [kind]) if isinstance(each, str) and each != "any"}


def documented_values(flat: dict[str, Json]) -> Iterator[Json]:
    """Yield the example, default and enum values of a schema, most specific first."""
    for name in ("example", "x-example", "default", "const"):
        if flat.get(name) not in (None, ""):
            yield flat[name]
    for name in ("examples", "enum"):
        yield from (one for one in sequence(flat.get(name))[:3] if one is not None)


def _merge_schema_part(found: dict[str, Json], part: dict[str, Json]) -> None:
    """Merge an `allOf` part into a schema; of other keywords, the first value is kept."""
    for name, value in part.items():
        known = found.get(name)
        if name in ("oneOf", "anyOf"):
            if options := [one for one in sequence(value) if isinstance(one, dict)]:
                found[_CHOICES_KEY] = [*sequence(found.get(_CHOICES_KEY)), options]
        elif name in (_CHOICES_KEY, "required"):
            found[name] = [*sequence(known), *sequence(value)]
        elif name == "properties":
            old, new = mapping(known), mapping(value)
            found[name] = {**old, **new, **{key: {"allOf": [old[key], new[key]]} for key in new if key in old}}
        elif name not in ("$ref", "allOf") and known is None:
            found[name] = value
