"""Generate sample values for schemas: a documented example that fits, or required fields with placeholders."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from deltos.domains.apis.refs import MAX_HOPS, reference_name
from deltos.domains.apis.spec_text import is_flag_set, mapping, sequence, text_of
from deltos.errors import BadArgument
from deltos.linear_regex import compile_regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from re import Pattern

    from deltos.domains.apis.model import Json
    from deltos.domains.apis.outline import Resolve

MAX_SAMPLE_LEVELS = 24
MAX_STEPS = 4_000  # maximum number of schema parts visited for one sample
MAX_DOCUMENTED_VALUE_CHARACTERS = 700  # documented examples with more characters are not used
MAX_PATTERN_CHARACTERS = 80  # regular expressions with more characters are not shown as placeholders
MAX_ITEMS = 50  # maximum number of list items or alternatives considered
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
_SIZE_LIMITS: dict[type, str] = {str: "Length", list: "Items", dict: "Properties"}


class Sampler:
    """Returns sample values for the schemas of one API. The number of visited schema parts is limited."""

    def __init__(self, resolve: Resolve) -> None:
        self.resolve = resolve
        self._steps = MAX_STEPS
        self._patterns: dict[str, Pattern[bytes] | None] = {}

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
            case "integer" | "number" as kind:
                return _number_value(flat, kind)
            case "boolean":
                return True
            case "null":
                return None
            case "object":
                return self._object_value(flat, seen)
            case "" if not flat.get("format"):
                return self._object_value(flat, seen)
        return self._text_value(flat)

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
        """Whether a value fits a schema; only common schema keywords are checked."""
        self._steps -= 1
        if not isinstance(schema, dict) or depth > MAX_SAMPLE_LEVELS or self._steps <= 0:
            return True
        flat = self.merge_parts(schema)
        if value is None and is_flag_set(flat.get("nullable")):
            return True
        if not _fits_type(value, flat) or (isinstance(value, str) and not self._matches(flat.get("pattern"), value)):
            return False
        choices = flat.get(_CHOICES_KEY, [])
        return self._fits_parts(value, flat, depth) and all(
            any(self.conforms(value, option, depth + 1) for option in options[:MAX_ITEMS]) for options in choices
        )

    def _fits_parts(self, value: Json, flat: dict[str, Json], depth: int) -> bool:
        """Whether the items of a list or the fields of an object fit the schema."""
        if isinstance(value, list):
            return all(self.conforms(part, flat.get("items"), depth + 1) for part in value[:MAX_ITEMS])
        if not isinstance(value, dict):
            return True
        members, extra = mapping(flat.get("properties")), flat.get("additionalProperties")
        missing = [name for name in sequence(flat.get("required")) if name not in value]
        if any(not self._is_read_only(members.get(name)) for name in missing):
            return False
        is_closed = extra in (False, "false")
        return all(
            (name in members or not is_closed) and self.conforms(part, members.get(name, extra), depth + 1)
            for name, part in value.items()
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
        chosen = next(usable, {"type": "null"} if any(one.get("type") == "null" for one in choices[0]) else {})
        target = text_of(chosen.get("$ref"))
        others = (options[0] for options in choices[1:])
        value = self.value({"allOf": [flat, chosen, *others]}, (*seen, target) if target else seen)
        discriminator = mapping(flat.get("discriminator"))
        name, keys = text_of(discriminator.get("propertyName")), mapping(discriminator.get("mapping"))
        if not (name and target and isinstance(value, dict)):
            return value
        key = next((key for key, mapped in keys.items() if mapped in (target, reference_name(target))), "")
        return {**value, name: key or value.get(name, reference_name(target))}

    def _object_value(self, flat: dict[str, Json], seen: tuple[str, ...]) -> Json:
        """Return a sample object with the required fields or, if no field is required, with one optional field."""
        members, extra = mapping(flat.get("properties")), flat.get("additionalProperties")
        required = dict.fromkeys(name for name in sequence(flat.get("required")) if isinstance(name, str))
        writable = [name for name, part in members.items() if not self._is_read_only(part)]
        chosen = [name for name in required if name in writable or name not in members]
        chosen = chosen or sorted(writable, key=lambda name: self._is_compound(members[name]))[:1]
        return {name: self._nested_value(members.get(name, extra), seen) for name in chosen[:MAX_LENGTH]}

    def _is_compound(self, schema: Json) -> bool:
        """Whether a field is too complex for an example: it is deprecated, an object or a list, or has no type."""
        flat = self.merge_parts(schema)
        return is_flag_set(flat.get("deprecated")) or kind_of_value(flat) in ("object", "array", "")

    def _nested_value(self, schema: Json, seen: tuple[str, ...]) -> Json:
        """Return a sample value for a field or list item."""
        value = self.value(schema, seen) if isinstance(schema, dict) and self._steps > 0 else "string"
        return "string" if value == {} and not kind_of_value(self.merge_parts(schema)) else value

    def _array_value(self, flat: dict[str, Json], seen: tuple[str, ...]) -> Json:
        """Return a sample list with one item, or with more items if `minItems` requires them."""
        minimum = min(int(_limit_value(flat, "minItems") or 0), MAX_ITEMS)
        items = flat.get("items")
        is_recursive = isinstance(items, dict) and items.get("$ref") in seen
        if not minimum and (is_recursive or _limit_value(flat, "maxItems") == 0):
            return []
        first = self._nested_value(items, seen)
        merged = self.merge_parts(items)
        others = (coerce_to_type(each, merged) for each in sequence(merged.get("enum")))
        return [first, *(each for each in others if each != first), *[first] * minimum][: max(minimum, 1)]

    def _text_value(self, flat: dict[str, Json]) -> str:
        """Return a placeholder for the string format within the length limits, or the pattern that must match."""
        minimum, maximum = (_limit_value(flat, name) for name in ("minLength", "maxLength"))
        length, most = int(min(minimum or 0, MAX_LENGTH)), int(min(maximum or MAX_LENGTH, MAX_LENGTH))
        given = "byte" if flat.get("type") == "bytes" else text_of(flat.get("format"))
        placeholder = next((text for name, text in _TEXT_BY_FORMAT.items() if given.lower().endswith(name)), "string")
        text = (placeholder if len(placeholder) >= length else placeholder * (length // len(placeholder) + 1))[:most]
        pattern = text_of(flat.get("pattern"))
        is_shown = pattern and len(pattern) <= MAX_PATTERN_CHARACTERS and not self._matches(pattern, text)
        return f"<{pattern}>" if is_shown else text

    def _matches(self, pattern: Json, text: str) -> bool:
        """Whether a string matches a pattern; an unsupported pattern matches every string."""
        if not isinstance(pattern, str):
            return True
        if pattern not in self._patterns:
            try:
                self._patterns[pattern] = compile_regex(pattern)
            except BadArgument:
                self._patterns[pattern] = None
        known = self._patterns[pattern]
        return known is None or bool(known.search(text.encode()))


def _fits_type(value: Json, flat: dict[str, Json]) -> bool:
    """Whether a value has the type and size, and one of the fixed values, that a merged schema requires."""
    kinds, own = _allowed_types(flat), _JSON_TYPE_BY_CLASS.get(type(value), "")
    # The declared type has no JSON type, such as `file`, `bytes` or `ID`.
    is_other_text = own == "string" and not kinds & set(_JSON_TYPE_BY_CLASS.values())
    if kinds and own not in kinds and not is_other_text and not (own == "integer" and "number" in kinds):
        return False
    fixed = [*sequence(flat.get("enum")), *([flat["const"]] if "const" in flat else [])]
    if fixed and value not in [coerce_to_type(each, flat) for each in fixed]:
        return False
    if own in ("integer", "number"):
        return _is_number_within(value, flat)
    if (what := _SIZE_LIMITS.get(type(value))) is None:
        return True
    maximum = _limit_value(flat, f"max{what}")
    return (_limit_value(flat, f"min{what}") or 0) <= len(value) <= (math.inf if maximum is None else maximum)


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
    """Merge an `allOf` part into a schema, keeping the stricter limits."""
    for name, value in part.items():
        known = found.get(name)
        if name in ("oneOf", "anyOf"):
            if options := [one for one in sequence(value) if isinstance(one, dict)]:
                found[_CHOICES_KEY] = [*sequence(found.get(_CHOICES_KEY)), options]
        elif name in (_CHOICES_KEY, "required"):
            found[name] = [*sequence(known), *sequence(value)]
        elif name == "properties":
            old, new = mapping(known), mapping(value)
            both = {key: {"allOf": [old[key], new[key]]} for key in new if key in old}
            found[name] = {**old, **new, **both}
        elif known is not None and name.startswith(("min", "max")):
            numbers = [number for number in map(as_number, (known, value)) if number is not None]
            found[name] = (max if name.startswith("min") else min)(numbers, default=known)
        elif name == "enum" and isinstance(known, list) and isinstance(value, list):
            found[name] = [one for one in known if one in value] or known
        elif name not in ("$ref", "allOf") and (known is None or (name == "type" and value == "integer")):
            found[name] = value


def as_number(value: Json) -> float | None:
    """Return a value as a number, even if YAML parsed it as text, or None if it is not a finite number."""
    try:
        number = None if isinstance(value, (bool, list, dict)) or len(str(value)) > 40 else float(value)
    except (ValueError, TypeError):
        return None
    return number if number is not None and math.isfinite(number) else None


def _limit_value(flat: dict[str, Json], name: str) -> float | None:
    """Return a limit such as `minLength`, or None if the limit is missing or negative."""
    number = as_number(flat.get(name))
    return number if number is not None and number >= 0 else None


def _number_limits(flat: dict[str, Json]) -> Iterator[tuple[int, float, bool]]:
    """Yield the sign (1 for a lower limit) and value of each limit, and whether the limit is exclusive.

    Limits in the form of OpenAPI 3.0 and of OpenAPI 3.1 are supported.
    """
    for name, exclusive_name, sign in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
        if (limit := as_number(flat.get(name))) is not None:
            yield sign, limit, is_flag_set(flat.get(exclusive_name))
        if (limit := as_number(flat.get(exclusive_name))) is not None:
            yield sign, limit, True


def _is_number_within(value: float, flat: dict[str, Json]) -> bool:
    """Whether a number is within the limits of its schema and a multiple of the schema's step."""
    step = as_number(flat.get("multipleOf"))
    return all(
        (value - limit) * sign > 0 or (value == limit and not is_exclusive)
        for sign, limit, is_exclusive in _number_limits(flat)
    ) and (not step or math.isclose(value / step, round(value / step)))


def _number_value(flat: dict[str, Json], kind: str) -> float:
    """Return a number within the limits of its schema."""
    step = as_number(flat.get("multipleOf")) or 1
    limits = [limit for _, limit, _ in _number_limits(flat)]
    tried = [1.5 if kind == "number" else 1, 1, 0, step, *(math.ceil(limit / step) * step for limit in limits)]
    tried += [limit + more for limit in limits for more in (0, 1, -1)]
    tried += [sum(limits) / len(limits)] if limits else []
    if flat.get("format") == "unix-time":
        tried.insert(0, 1704067200)
    fitting = (each for each in tried if _is_number_within(each, flat))
    number = next((each for each in fitting if kind == "number" or float(each).is_integer()), tried[0])
    return int(number) if float(number).is_integer() else number
