"""Generate sample values for schemas from documented examples or placeholders."""

from __future__ import annotations

import json
import math
from itertools import pairwise
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

MAX_OPTIONS = 12  # maximum number of alternatives tried per schema
MAX_SAMPLE_LEVELS = 24
MAX_STEPS = 4_000  # maximum number of schema parts visited per sample
MAX_DOCUMENTED_VALUE_CHARACTERS = 700  # longer examples are not used
MAX_PATTERN_CHARACTERS = 80  # longer patterns are not shown as placeholders
MAX_ITEMS = 50  # maximum number of list items or alternatives considered
MAX_LENGTH = 1_000  # maximum number of characters of a string and of fields of an object

# Sample strings by suffix of a format or GraphQL scalar name; the first match is used.
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
# Further sample strings that are tried for a pattern.
_PATTERN_CANDIDATES = ("string", "a", "1", "A", "AA", "1.0", "#000000", "/a", *dict.fromkeys(_TEXT_BY_FORMAT.values()))
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
_CHOICES_KEY = "x-choices"  # key in merged schemas for pairs of `oneOf` or `anyOf` and its alternatives
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


def sample(schema: Json, resolve: Resolve) -> Json:
    """Return a sample value that fits a schema."""
    return Sampler(resolve).value(schema)


class Sampler:
    """Generates sample values for schemas of one API, and checks values against schemas.

    The number of visited schema parts is limited.
    """

    def __init__(self, resolve: Resolve) -> None:
        self.resolve = resolve
        self._steps = MAX_STEPS
        self._patterns: dict[str, Pattern[bytes] | None] = {}

    def value(self, schema: Json, seen: tuple[str, ...] = ()) -> Json:
        """Return a sample value that fits a schema, or an empty object inside a recursive schema."""
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
        if not flat.get(_CHOICES_KEY):
            return self._generate_value(flat, seen)
        values = []
        for value in self._option_values(flat, seen):
            if self.conforms(value, flat):
                return value
            values.append(value)
        return values[0] if values else {}

    def fitting_values(self, values: Iterable[Json], schema: Json) -> Iterator[Json]:
        """Yield the short documented values that fit the schema, converted to its types."""
        for given in values:
            value = self.convert_types(given, schema)
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

    def convert_types(self, value: Json, schema: Json, depth: int = 0) -> Json:
        """Convert a documented value to the types of its schema, and drop read-only fields."""
        # YAML scalars are parsed as text.
        flat = self.merge_parts(schema)
        if isinstance(value, dict) and depth < MAX_SAMPLE_LEVELS:
            members = mapping(flat.get("properties"))
            for _, options in sequence(flat.get(_CHOICES_KEY)):
                for option in options[:MAX_OPTIONS]:
                    members = {**mapping(self.merge_parts(option).get("properties")), **members}
            return {
                name: self.convert_types(part, members[name], depth + 1) if name in members else part
                for name, part in value.items()
                if not self._is_read_only(members.get(name))
            }
        if isinstance(value, list) and depth < MAX_SAMPLE_LEVELS:
            return [self.convert_types(part, flat.get("items"), depth + 1) for part in value[:MAX_ITEMS]]
        return coerce_to_type(value, flat)

    def _is_read_only(self, schema: Json) -> bool:
        """Whether a schema has the flag `readOnly`."""
        return isinstance(schema, dict) and is_flag_set(self.merge_parts(schema).get("readOnly"))

    def _option_values(self, flat: dict[str, Json], seen: tuple[str, ...]) -> Iterator[Json]:
        """Yield a value for each alternative of the first choice; for other choices, the first alternative is used."""
        base = {name: part for name, part in flat.items() if name != _CHOICES_KEY}
        first, *others = [options for _, options in flat[_CHOICES_KEY]]
        for option in sorted(first[:MAX_OPTIONS], key=lambda option: bool(option.get("type") == "null")):
            target = text_of(option.get("$ref"))
            if target in seen or self._steps <= 0:
                continue
            value = self.value({"allOf": [base, option, *(options[0] for options in others)]}, (*seen, target))
            yield self._with_discriminator(value, flat, target)

    def _with_discriminator(self, value: Json, flat: dict[str, Json], target: str) -> Json:
        """Return a value whose discriminator field is set to the name of its alternative."""
        discriminator = mapping(flat.get("discriminator"))
        name, keys = text_of(discriminator.get("propertyName")), mapping(discriminator.get("mapping"))
        if not (name and target and isinstance(value, dict)):
            return value
        key = next((key for key, mapped in keys.items() if mapped in (target, reference_name(target))), "")
        return {**value, name: key or value.get(name, reference_name(target))}

    def _generate_value(self, flat: dict[str, Json], seen: tuple[str, ...]) -> Json:
        """Return a placeholder value for the type of a merged schema."""
        kind = kind_of_value(flat)
        if kind == "object" or not (kind or flat.get("format")):
            return self._object_value(flat, seen)
        if kind == "array":
            return self._array_value(flat, seen)
        if kind in ("integer", "number"):
            return _number_value(flat, kind)
        return {"boolean": True, "null": None}[kind] if kind in ("boolean", "null") else self._text_value(flat)

    def _object_value(self, flat: dict[str, Json], seen: tuple[str, ...]) -> Json:
        """Return a sample object with the required fields, and others if `minProperties` requires more."""
        members, extra = mapping(flat.get("properties")), flat.get("additionalProperties")
        minimum = int(_limit_value(flat, "minProperties") or 0)
        writable = [name for name, part in members.items() if not self._is_read_only(part)]
        required = [name for name in sequence(flat.get("required")) if isinstance(name, str)]
        chosen = [name for name in writable if name in required] + [name for name in required if name not in members]
        if max(minimum, 1) > len(chosen):
            optional = sorted(
                (each for each in writable if each not in chosen),
                key=lambda each: self._optional_field_rank(members[each]),
            )
            chosen += optional[: max(minimum, 1) - len(chosen)]
        found = {name: self._nested_value(members.get(name, extra), seen) for name in chosen[:MAX_LENGTH]}
        while len(found) < min(minimum, MAX_ITEMS):
            found[f"key{len(found) + 1}"] = self._nested_value(extra, seen)
        return found

    def _optional_field_rank(self, schema: Json) -> int:
        """Return the sort key of an optional field: scalars first, deprecated fields last."""
        flat = self.merge_parts(schema)
        return 2 * is_flag_set(flat.get("deprecated")) + (kind_of_value(flat) in ("object", "array", ""))

    def _nested_value(self, schema: Json, seen: tuple[str, ...]) -> Json:
        """Return a sample value for a field or list item."""
        value = self.value(schema, seen) if isinstance(schema, dict) and self._steps > 0 else "string"
        return value or ("string" if value == {} and not kind_of_value(self.merge_parts(schema)) else value)

    def _array_value(self, flat: dict[str, Json], seen: tuple[str, ...]) -> Json:
        """Return a sample list with at least `minItems` items."""
        minimum = min(int(_limit_value(flat, "minItems") or 0), MAX_ITEMS)
        items = flat.get("items")
        is_recursive = isinstance(items, dict) and items.get("$ref") in seen
        if not minimum and (is_recursive or _limit_value(flat, "maxItems") == 0):
            return []
        first = self._nested_value(items, seen)
        values = [
            coerce_to_type(each, self.merge_parts(items)) for each in sequence(self.merge_parts(items).get("enum"))
        ]
        return [first, *(each for each in values if each != first), *[first] * minimum][: max(minimum, 1)]

    def _text_value(self, flat: dict[str, Json]) -> str:
        """Return a sample string that fits the format, length limits and pattern, or the pattern as a placeholder."""
        minimum, maximum = (_limit_value(flat, name) for name in ("minLength", "maxLength"))
        length, most = int(min(minimum or 0, MAX_LENGTH)), int(min(maximum or MAX_LENGTH, MAX_LENGTH))
        given = "byte" if flat.get("type") == "bytes" else text_of(flat.get("format"))
        placeholder = next((text for name, text in _TEXT_BY_FORMAT.items() if given.lower().endswith(name)), "string")
        repeated = (
            each * (1 if len(each) >= length else length // len(each) + 1)
            for each in (placeholder, *_PATTERN_CANDIDATES)
        )
        texts = [each[:most] for each in repeated]
        pattern = flat.get("pattern")
        shown = f"<{pattern}>" if isinstance(pattern, str) and len(pattern) <= MAX_PATTERN_CHARACTERS else texts[0]
        return next((each for each in texts if self._matches(pattern, each)), shown)

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

    def conforms(self, value: Json, schema: Json, depth: int = 0) -> bool:
        """Whether a value fits a schema; only common keywords are checked."""
        self._steps -= 1
        if not isinstance(schema, dict) or depth > MAX_SAMPLE_LEVELS or self._steps <= 0:
            return True
        flat = self.merge_parts(schema)
        if value is None and is_flag_set(flat.get("nullable")):
            return True
        return (
            _fits_type(value, flat)
            and self._fits_text(value, flat)
            and self._fits_items_and_fields(value, flat, depth)
            and all(
                self._fits_choice(value, keyword, options, depth)
                for keyword, options in sequence(flat.get(_CHOICES_KEY))
            )
        )

    def _fits_text(self, value: Json, flat: dict[str, Json]) -> bool:
        return not isinstance(value, str) or self._matches(flat.get("pattern"), value)

    def _fits_items_and_fields(self, value: Json, flat: dict[str, Json], depth: int) -> bool:
        """Whether the items of a list or the fields of an object fit the schema."""
        if isinstance(value, list):
            return all(self.conforms(part, flat.get("items"), depth + 1) for part in value[:MAX_ITEMS])
        if not isinstance(value, dict):
            return True
        members, extra = mapping(flat.get("properties")), flat.get("additionalProperties")
        missing = [name for name in sequence(flat.get("required")) if name not in value]
        if any(not self._is_read_only(members.get(name)) for name in missing):
            return False
        if extra in (False, "false") and not value.keys() <= members.keys():
            return False
        return all(
            self.conforms(part, members.get(name, extra), depth + 1) and not self._is_read_only(members.get(name))
            for name, part in value.items()
        )

    def _fits_choice(self, value: Json, keyword: str, options: list[Json], depth: int) -> bool:
        """Whether a value fits exactly one `oneOf` alternative, or at least one `anyOf` alternative."""
        fitting = sum(self.conforms(value, option, depth + 1) for option in options[:MAX_ITEMS])
        return fitting == 1 if keyword == "oneOf" else fitting >= 1


def _fits_type(value: Json, flat: dict[str, Json]) -> bool:
    """Whether a value has the type, size and fixed values that a merged schema requires."""
    kinds, own = _allowed_types(flat), _JSON_TYPE_BY_CLASS.get(type(value), "")
    is_other_text = own == "string" and not kinds & set(_JSON_TYPE_BY_CLASS.values())  # such as `file`, `bytes` or `ID`
    if kinds and own not in kinds and not is_other_text and not (own == "integer" and "number" in kinds):
        return False
    fixed = [*sequence(flat.get("enum")), *([flat["const"]] if "const" in flat else [])]
    if fixed and value not in [coerce_to_type(each, flat) for each in fixed]:
        return False
    if isinstance(value, (int, float)):
        return isinstance(value, bool) or _is_number_within(value, flat)
    what = {"string": "Length", "array": "Items", "object": "Properties"}.get(own)
    return what is None or (_limit_value(flat, f"min{what}") or 0) <= len(value) <= _or_infinite(
        _limit_value(flat, f"max{what}")
    )


def coerce_to_type(value: Json, schema: dict[str, Json]) -> Json:
    """Return a scalar converted to the type of its schema."""
    # YAML scalars are parsed as text.
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
    """Return the type of a merged schema; if it is missing, infer it from other keywords."""
    kind = flat.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if isinstance(kind, str) and kind != "any":
        return kind
    return next((kind for keyword, kind in _KIND_BY_KEYWORD.items() if keyword in flat), "")


def _allowed_types(flat: dict[str, Json]) -> set[str]:
    """Return the types in a merged schema; empty if every type is allowed."""
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
                found[_CHOICES_KEY] = [*sequence(found.get(_CHOICES_KEY)), (name, options)]
        elif name == _CHOICES_KEY or (name == "required" and isinstance(value, list)):
            found[name] = [*sequence(known), *value]
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
    """Return a value as a number, even if YAML parsed it as text, or None if it is not a number."""
    try:
        return None if isinstance(value, (bool, list, dict)) or len(str(value)) > 40 else float(value)
    except (ValueError, TypeError):
        return None


def _limit_value(flat: dict[str, Json], name: str) -> float | None:
    """Return a limit such as `minLength`, or None if it is missing, negative or not finite."""
    number = as_number(flat.get(name))
    return number if number is not None and math.isfinite(number) and number >= 0 else None


def _or_infinite(number: float | None) -> float:
    """Return the number, or infinity if it is None."""
    return math.inf if number is None else number


def _is_number_within(value: float, flat: dict[str, Json]) -> bool:
    """Whether a number is within its limits; exclusive limits may have the form of OpenAPI 3.0 or 3.1."""
    for limit_name, exclusive_name, sign in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
        limit, exclusive = as_number(flat.get(limit_name)), flat.get(exclusive_name)
        number = as_number(exclusive)
        if limit is not None and ((value - limit) * sign < 0 or (value == limit and is_flag_set(exclusive))):
            return False
        if number is not None and (value - number) * sign <= 0:
            return False
    step = as_number(flat.get("multipleOf"))
    return not step or math.isclose(value / step, round(value / step))


def _number_value(flat: dict[str, Json], kind: str) -> float:
    """Return a number within the limits of its schema."""
    names = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    limits = [limit for limit in (as_number(flat.get(name)) for name in names) if limit is not None]
    step = as_number(flat.get("multipleOf")) or 1
    tried = [
        1.5 if kind == "number" else 1,
        1,
        0,
        step,
        *(math.ceil(limit / step) * step for limit in limits if math.isfinite(limit / step)),
    ]
    tried += [limit + more for limit in limits for more in (0, 1, -1)]
    tried += [(low + high) / 2 for low, high in pairwise(limits)]
    if flat.get("format") == "unix-time":
        tried.insert(0, 1704067200)
    fitting = (each for each in tried if _is_number_within(each, flat))
    number = next((each for each in fitting if kind == "number" or float(each).is_integer()), tried[0])
    return int(number) if float(number).is_integer() else number
