"""Sample values for schemas: the author's value if it fits, else a value made from types, formats and limits."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from deltos.domains.apis.pattern_sample import text_matching
from deltos.domains.apis.refs import MAX_HOPS, reference_name
from deltos.domains.apis.spec_text import is_true, text_of
from deltos.errors import BadArgument
from deltos.pattern import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Pattern

    from deltos.domains.apis.model import Json
    from deltos.domains.apis.outline import Resolve

MAX_OPTIONAL_FIELDS = 3  # shown if no field is required
MAX_OPTIONS = 12  # alternatives tried per schema
MAX_LEVELS = 24
MAX_STEPS = 4_000  # schema parts visited per sample
_RESERVED_STEPS = MAX_STEPS // 2  # not available to the search for a smaller alternative
MAX_AUTHOR_VALUE_CHARACTERS = 700
MAX_ITEMS = 50
MAX_LENGTH = 1_000
_TEXT_BY_FORMAT = {
    "date-time": "2024-01-01T00:00:00Z",
    "datetime": "2024-01-01T00:00:00Z",
    "date": "2024-01-01",
    "time": "12:00:00Z",
    "duration": "PT1H",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "email": "user@example.com",
    "uri": "https://example.com",
    "url": "https://example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "cidr": "192.0.2.0/24",
    "byte": "c3RyaW5n",
    "int64": "1",
    "uint64": "1",
    "int32": "1",
    "unix-time": "1704067200",
}
_MERGED_TIGHTER = {
    **dict.fromkeys(("minimum", "minLength", "minItems", "minProperties", "exclusiveMinimum"), max),
    **dict.fromkeys(("maximum", "maxLength", "maxItems", "maxProperties", "exclusiveMaximum"), min),
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
_CHOICES_KEY = "x-choices"  # key of a merged schema's `oneOf` and `anyOf` lists, each with its keyword
_AUTHOR_VALUE_KEYS = ("example", "x-example", "default", "const")
_JSON_TYPE_NAMES = {
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "str": "string",
    "list": "array",
    "dict": "object",
}


def sample(schema: Json, resolve: Resolve) -> Json:
    """Return a value that fits a schema, with required fields and few others."""
    return Sampler(resolve).sample_or_empty(schema)


class _NoValue:
    """Marker for "no value": a recursive or read-only schema."""


_NO_VALUE = _NoValue()


class Sampler:
    """Generates values for the schemas of one API within a number of steps.

    With `fills_empty`, objects get at least one field if possible, because forms cannot express an empty object and
    protobuf servers rarely accept one.
    """

    def __init__(self, resolve: Resolve, *, fills_empty: bool = False) -> None:
        self.resolve = resolve
        self._fills_empty = fills_empty
        self._steps = MAX_STEPS
        self._patterns: dict[str, Pattern[bytes] | None] = {}

    def sample_or_empty(self, schema: Json) -> Json:
        """Return a value that fits a schema, or an empty object."""
        value = self.value(schema)
        return {} if value is _NO_VALUE else self.trim_to_required(value, schema)

    def trim_to_required(self, value: Json, schema: Json) -> Json:
        """Reduce an object of a schema with alternatives to the required fields of the first alternative it fits."""
        flat = self.merged(schema)
        if not flat.get(_CHOICES_KEY) or not isinstance(value, dict):
            return value
        for joined, _ in _merged_options(flat):
            if self.conforms(value, joined):
                required = _sequence(self.merged(joined).get("required"))
                less = {name: part for name, part in value.items() if name in required}
                return less if less and self.conforms(less, schema) and self._steps > 0 else value
        return value

    def value(self, schema: Json, seen: tuple[str, ...] = (), *, is_whole: bool = True) -> Json:
        """Return a value that fits a schema; with `is_whole`, add optional fields if none is required."""
        self._steps -= 1
        target = schema.get("$ref") if isinstance(schema, dict) else None
        if isinstance(target, str):
            if target in seen or len(seen) >= MAX_LEVELS:
                return _NO_VALUE
            if target.startswith(_WELL_KNOWN_PREFIX) and target.removeprefix(_WELL_KNOWN_PREFIX) in _WELL_KNOWN_VALUES:
                return _WELL_KNOWN_VALUES[target.removeprefix(_WELL_KNOWN_PREFIX)]
            seen = (*seen, target)
        flat = self.merged(schema)
        for given in _author_values(flat):
            fit_to_schema = self.fit_to_schema(given, flat)
            if len(_compact(fit_to_schema)) <= MAX_AUTHOR_VALUE_CHARACTERS and self.conforms(fit_to_schema, schema):
                return fit_to_schema
        if flat.get(_CHOICES_KEY) and self._steps > 0:
            return self._sample_alternative(schema, flat, seen, is_whole=is_whole)
        return self._sample_by_type(flat, seen, is_whole=is_whole)

    def merged(self, schema: Json) -> dict[str, Json]:
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
            _merge(found, part)
            if isinstance(parts := part.get("allOf"), list):
                pending.extend(parts[:MAX_ITEMS])
        return found

    def fit_to_schema(self, value: Json, schema: Json, depth: int = 0) -> Json:
        """Convert an author's value to the types of its schema and drop read-only fields; YAML scalars are text."""
        flat = self.merged(schema)
        if isinstance(value, dict) and depth < MAX_LEVELS:
            members = _mapping(flat.get("properties"))
            members = members or self._members_of_options(flat)
            return {
                name: self.fit_to_schema(part, members[name], depth + 1) if name in members else part
                for name, part in value.items()
                if not self._is_read_only(members.get(name))
            }
        if isinstance(value, list) and depth < MAX_LEVELS:
            return [self.fit_to_schema(part, flat.get("items"), depth + 1) for part in value[:MAX_ITEMS]]
        return coerce_to_type(value, flat)

    def _members_of_options(self, flat: dict[str, Json]) -> dict[str, Json]:
        members: dict[str, Json] = {}
        for _, options in flat.get(_CHOICES_KEY, ()):
            for option in options[:MAX_OPTIONS]:
                members = {**_mapping(self.merged(option).get("properties")), **members}
        return members

    def _is_read_only(self, schema: Json) -> bool:
        return isinstance(schema, dict) and is_true(self.merged(schema).get("readOnly"))

    # ------------------------------------------------------------------ alternatives

    def _sample_alternative(
        self, schema: Json, flat: dict[str, Json], seen: tuple[str, ...], *, is_whole: bool
    ) -> Json:
        """Return a value of the first alternative that fits the whole schema, or an equivalent smaller object."""
        first: Json = _NO_VALUE
        values = self._option_values(schema, flat, seen, is_whole=is_whole)
        for value, fits in values:
            if fits:
                return self._smallest(value, values, schema)
            first = value if first is _NO_VALUE else first
        return first

    def _smallest(self, value: Json, others: Iterator[tuple[Json, bool]], schema: Json) -> Json:
        """Return the object with the fewest values that is equivalent to the first one.

        A value that is not an object is kept: an empty string or an id instead of an object is often a special case.
        """
        if not isinstance(value, dict) or self._steps <= _RESERVED_STEPS:
            return value
        self._steps -= _RESERVED_STEPS
        for other, fits in others:
            if fits and self._steps > 0 and isinstance(other, dict) and 0 < _size(other) < _size(value):
                value = other if self.is_equivalent(value, other, schema) else value
        self._steps += _RESERVED_STEPS
        return value

    def is_equivalent(self, one: Json, other: Json, schema: Json) -> bool:
        """Whether two objects agree in all fields with a fixed set of values: `delete` does not replace `create`."""
        if not isinstance(one, dict) or not isinstance(other, dict):
            return False
        flat = self.merged(schema)
        members = {**self._members_of_options(flat), **_mapping(flat.get("properties"))}
        differing = (name for name in one.keys() & other.keys() if one[name] != other[name])
        return not any({"enum", "const", _CHOICES_KEY} & self.merged(members.get(name)).keys() for name in differing)

    def _option_values(
        self, schema: Json, flat: dict[str, Json], seen: tuple[str, ...], *, is_whole: bool
    ) -> Iterator[tuple[Json, bool]]:
        """Yield values of each alternative, and whether they fit the whole schema; later values have more optional
        fields."""
        for joined, option in _merged_options(flat):
            fits = False
            for extra in (0, MAX_OPTIONAL_FIELDS, MAX_ITEMS):
                optional = extra or (MAX_OPTIONAL_FIELDS if is_whole else 0)
                value = _NO_VALUE if fits else self._option_value(joined, option, flat, seen, optional)
                if value is _NO_VALUE:
                    break
                fits = self.conforms(value, schema)
                yield value, fits
            if self._steps <= 0:
                break

    def _option_value(
        self, joined: Json, option: tuple[Json, ...], flat: dict[str, Json], seen: tuple[str, ...], optional: int
    ) -> Json:
        targets = [part["$ref"] for part in option if isinstance(part, dict) and isinstance(part.get("$ref"), str)]
        if any(target in seen for target in targets):
            return _NO_VALUE
        inner = self.merged(joined)
        if inner.get(_CHOICES_KEY):
            return self.value(joined, (*seen, *targets), is_whole=False) if len(seen) < MAX_LEVELS else _NO_VALUE
        for given in _author_values(inner):
            fit_to_schema = self.fit_to_schema(given, inner)
            if len(_compact(fit_to_schema)) <= MAX_AUTHOR_VALUE_CHARACTERS and self.conforms(fit_to_schema, inner):
                return fit_to_schema
        value = self._sample_by_type(inner, (*seen, *targets), is_whole=optional > 0, optional=optional)
        return self._discriminated(value, flat, targets)

    def _discriminated(self, value: Json, flat: dict[str, Json], targets: list[str]) -> Json:
        """Set the discriminator field of a value."""
        discriminator = _mapping(flat.get("discriminator"))
        name = text_of(discriminator.get("propertyName"))
        if not (name and targets and isinstance(value, dict)):
            return value
        mapping = _mapping(discriminator.get("mapping"))
        mapped_keys = [
            key for key, target in mapping.items() if target in targets or target == reference_name(targets[0])
        ]
        known = _mapping(self.merged({"$ref": targets[0]}).get("properties")).get(name)
        key = mapped_keys[0] if mapped_keys else reference_name(targets[0])
        return {**value, name: key} if mapped_keys or self.conforms(key, known) else value

    # ------------------------------------------------------------------ values by type

    def _sample_by_type(
        self, flat: dict[str, Json], seen: tuple[str, ...], *, is_whole: bool, optional: int = MAX_OPTIONAL_FIELDS
    ) -> Json:
        match kind_of_value(flat):
            case "object":
                return self._object(flat, seen, optional if is_whole else 0)
            case "array":
                return self._array(flat, seen)
            case "boolean":
                return True
            case "integer" | "number" as kind:
                return _number(flat, kind)
            case "null":
                return None
            case "file" | "string" | "bytes" | "ID" | "scalar":
                return self._text(flat)
            case _:
                return {} if not flat.get("format") and is_whole else self._text(flat)

    def _object(self, flat: dict[str, Json], seen: tuple[str, ...], optional: int) -> Json:
        members = _mapping(flat.get("properties"))
        required = [name for name in _sequence(flat.get("required")) if isinstance(name, str)]
        writable = {name: part for name, part in members.items() if not self._is_read_only(part)}
        chosen = [name for name in writable if name in required]
        chosen += [name for name in required if name not in members]
        minimum = int(_bound(flat, "minProperties") or 0)
        optional = optional or int(self._fills_empty)
        if (not chosen and optional) or optional > MAX_OPTIONAL_FIELDS or len(chosen) < minimum:
            chosen += self._optional(writable, chosen, max(optional, minimum))
        found: dict[str, Json] = {}
        oneofs: set[str] = set()
        for name in chosen[:MAX_LENGTH]:
            part = members.get(name, flat.get("additionalProperties"))
            if (group := text_of(_mapping(part).get("x-oneof"))) and group in oneofs:
                continue  # protobuf: at most one of these
            oneofs.add(group)
            value = self.value(part, seen, is_whole=False) if self._steps > 0 else "string"
            if value is not _NO_VALUE or name in required:
                found[name] = {} if value is _NO_VALUE else value
        while len(found) < min(minimum, MAX_ITEMS):
            found[f"key{len(found) + 1}"] = self._sample_inner(flat.get("additionalProperties"), seen)
        return found

    def _optional(self, writable: dict[str, Json], chosen: list[str], count: int) -> Iterator[str]:
        """Yield optional fields to add: deprecated ones last, and only scalar ones to fill an empty object."""
        rest = [name for name in writable if name not in chosen]
        if self._fills_empty:
            rest = [name for name in rest if kind_of_value(self.merged(writable[name])) != "object"] or rest
        rest.sort(key=lambda name: is_true(_mapping(writable[name]).get("deprecated")))
        yield from rest[:count]

    def _sample_inner(self, schema: Json, seen: tuple[str, ...]) -> Json:
        value = self.value(schema, seen, is_whole=False) if isinstance(schema, dict) else "string"
        return {} if value is _NO_VALUE else value

    def _array(self, flat: dict[str, Json], seen: tuple[str, ...]) -> Json:
        minimum = min(int(_bound(flat, "minItems") or 0), MAX_ITEMS)
        maximum = _bound(flat, "maxItems")
        if maximum == 0 or self._steps <= 0:
            return []
        items = flat.get("items")
        first = self.value(items, seen, is_whole=False) if isinstance(items, dict) else "string"
        if first is _NO_VALUE:
            return [{}] * minimum
        if minimum < 2:
            return [first]
        return [_vary(first, position, self.merged(items)) for position in range(minimum)]

    def _text(self, flat: dict[str, Json]) -> Json:
        minimum, maximum = int(_bound(flat, "minLength") or 0), _bound(flat, "maxLength")
        plain = (
            "c3RyaW5n" if flat.get("type") == "bytes" else _TEXT_BY_FORMAT.get(text_of(flat.get("format")), "string")
        )
        pattern = flat.get("pattern")
        candidates = [plain, "string", "a", "1", "https://example.com", "2024-01-01T00:00:00Z", "user@example.com"]
        if isinstance(pattern, str):
            candidates += [text_matching(pattern, repeats=repeats) for repeats in (0, 1, 2, 4, 8, 16, minimum)]
        for candidate in candidates:
            text = (candidate * (minimum // max(1, len(candidate)) + 1) if len(candidate) < minimum else candidate)[
                : int(min(maximum, MAX_LENGTH)) if maximum is not None else MAX_LENGTH
            ]
            if len(text) >= min(minimum, MAX_LENGTH) and self._matches(pattern, text):
                return text
        return text_matching(pattern) if isinstance(pattern, str) else plain

    def _matches(self, pattern: Json, text: str) -> bool:
        """Whether a text matches a pattern; an unsupported pattern matches everything."""
        if not isinstance(pattern, str):
            return True
        if pattern not in self._patterns:
            try:
                self._patterns[pattern] = compiled(pattern)
            except BadArgument:
                self._patterns[pattern] = None
        known = self._patterns[pattern]
        return known is None or bool(known.search(text.encode()))

    # ------------------------------------------------------------------ validation

    def conforms(self, value: Json, schema: Json, depth: int = 0) -> bool:
        """Whether a value fits a schema according to the common keywords."""
        self._steps -= 1
        if not isinstance(schema, dict) or depth > MAX_LEVELS or self._steps <= 0:
            return True
        flat = self.merged(schema)
        if value is None:
            return is_true(flat.get("nullable")) or "null" in _kinds(flat) or not _kinds(flat)
        return (
            self._fits_type(value, flat)
            and self._fits_members(value, flat, depth)
            and all(
                self._fits_choice(value, keyword, options, depth) for keyword, options in flat.get(_CHOICES_KEY, ())
            )
        )

    def _fits_type(self, value: Json, flat: dict[str, Json]) -> bool:
        kinds, own = _kinds(flat), _JSON_TYPE_NAMES.get(type(value).__name__, "")
        is_number = own == "integer" and "number" in kinds
        is_other_text = own == "string" and not kinds & set(
            _JSON_TYPE_NAMES.values()
        )  # a format's own: `file`, `bytes`, `ID`
        if kinds and own not in kinds and not is_number and not is_other_text:
            return False
        if (values := _sequence(flat.get("enum"))) and value not in [coerce_to_type(one, flat) for one in values]:
            return False
        if "const" in flat and value != coerce_to_type(flat["const"], flat):
            return False
        if isinstance(value, str):
            return _is_within(len(value), flat, "Length") and self._matches(flat.get("pattern"), value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _is_number_within(value, flat)
        return True

    def _fits_members(self, value: Json, flat: dict[str, Json], depth: int) -> bool:
        if isinstance(value, list):
            items = flat.get("items")
            fits = all(self.conforms(part, items, depth + 1) for part in value[:MAX_ITEMS])
            return fits and _is_within(len(value), flat, "Items")
        if not isinstance(value, dict):
            return True
        members = _mapping(flat.get("properties"))
        for name in _sequence(flat.get("required")):
            if name not in value and not self._is_read_only(members.get(name)):
                return False
        extra = flat.get("additionalProperties")
        for name, part in value.items():
            inner = members.get(name, extra)
            if name not in members and (extra is False or extra == "false"):
                return False
            if not self.conforms(part, inner, depth + 1) or self._is_read_only(members.get(name)):
                return False
        return _is_within(len(value), flat, "Properties")

    def _fits_choice(self, value: Json, keyword: str, options: list[Json], depth: int) -> bool:
        fitting = sum(self.conforms(value, option, depth + 1) for option in options[:MAX_ITEMS])
        return fitting == 1 if keyword == "oneOf" else fitting >= 1


def coerce_to_type(value: Json, schema: dict[str, Json]) -> Json:
    """Convert a scalar that YAML parsed as text to the type of its schema, and vice versa."""
    kinds = _kinds(schema)
    if isinstance(value, (int, float)) and kinds == {"string"}:
        return str(value).lower() if isinstance(value, bool) else str(value)
    if not isinstance(value, str) or not kinds or "string" in kinds:
        return value
    if "boolean" in kinds and value.lower() in ("true", "false"):
        return is_true(value.lower())
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    if isinstance(found, float) and "integer" in kinds and found.is_integer():
        return int(found)
    return found if not isinstance(found, float) or math.isfinite(found) else value


def kind_of_value(flat: dict[str, Json]) -> str:
    """Return the type of a merged schema, inferred from other keywords if it is missing."""
    kind = flat.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if isinstance(kind, str) and kind != "any":
        return kind
    if any(name in flat for name in ("properties", "additionalProperties", "required", "minProperties")):
        return "object"
    if "items" in flat:
        return "array"
    if any(name in flat for name in ("pattern", "minLength", "maxLength")):
        return "string"
    if any(name in flat for name in ("minimum", "maximum")):
        return "number"
    return ""


def _kinds(flat: dict[str, Json]) -> set[str]:
    kind = flat.get("type")
    return {one for one in (kind if isinstance(kind, list) else [kind]) if isinstance(one, str) and one != "any"}


def _author_values(flat: dict[str, Json]) -> Iterator[Json]:
    """Yield the author's values for a schema, most specific first."""
    for name in _AUTHOR_VALUE_KEYS:
        if flat.get(name) not in (None, ""):
            yield flat[name]
    for name in ("examples", "enum"):
        given = flat.get(name)
        if isinstance(given, list):
            yield from (one for one in given[:3] if one is not None)


def _merged_options(flat: dict[str, Json]) -> Iterator[tuple[Json, tuple[Json, ...]]]:
    """Yield each alternative merged with the rest of the schema, and the alternative itself."""
    base = {name: part for name, part in flat.items() if name != _CHOICES_KEY}
    for option in _combinations(flat[_CHOICES_KEY]):
        yield {"allOf": [base, *option]}, option


def _combinations(choices: list[tuple[str, list[Json]]]) -> Iterator[tuple[Json, ...]]:
    """Yield every alternative of the first choice, combined with the first alternative of the other choices."""
    rest = tuple(options[0] for _, options in choices[1:] if options)
    for option in sorted(choices[0][1][:MAX_OPTIONS], key=lambda option: bool(option.get("type") == "null")):
        yield (option, *rest)


def _merge(found: dict[str, Json], part: dict[str, Json]) -> None:
    """Merge one part of a schema into another; stricter limits win."""
    for name, value in part.items():
        if name in ("oneOf", "anyOf"):
            options = [one for one in _sequence(value) if isinstance(one, dict)]
            if options:
                found.setdefault(_CHOICES_KEY, [])
                found[_CHOICES_KEY] = [*found[_CHOICES_KEY], (name, options)]
        elif name == _CHOICES_KEY:
            found[_CHOICES_KEY] = [*found.get(_CHOICES_KEY, ()), *value]
        elif name == "properties":
            found[name] = _merge_members(_mapping(found.get(name)), _mapping(value))
        elif name == "required" and isinstance(value, list):
            found[name] = [*_sequence(found.get(name)), *value]
        elif name in _MERGED_TIGHTER and name in found:
            one, two = as_number(found[name]), as_number(value)
            if one is not None and two is not None:
                found[name] = _MERGED_TIGHTER[name](one, two)
        elif name == "enum" and isinstance(found.get(name), list) and isinstance(value, list):
            found[name] = [one for one in found[name] if one in value] or found[name]
        elif name == "type" and found.get("type") == "number" and value == "integer":
            found[name] = value
        elif name not in ("$ref", "allOf"):
            found.setdefault(name, value)


def _merge_members(first: dict[str, Json], second: dict[str, Json]) -> dict[str, Json]:
    both = {name: {"allOf": [first[name], part]} for name, part in second.items() if name in first}
    return {**first, **second, **both}


def _vary(value: Json, position: int, flat: dict[str, Json]) -> Json:
    """Return a value for a later position of a list, different from the first if that is easy."""
    values = _sequence(flat.get("enum"))
    if position < len(values):
        return coerce_to_type(values[position], flat)
    if isinstance(value, int) and not isinstance(value, bool) and _is_number_within(value + position, flat):
        return value + position
    if isinstance(value, str) and position and "pattern" not in flat and "format" not in flat:
        return f"{value}{position + 1}"
    return value


def as_number(value: Json) -> float | None:
    """Return a number, also if YAML parsed it as text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return value
    try:
        return float(value) if isinstance(value, str) and len(value) < 40 else None
    except ValueError:
        return None


def _bound(flat: dict[str, Json], name: str) -> float | None:
    number = as_number(flat.get(name))
    return number if number is None or (math.isfinite(number) and number >= 0) else None


def _is_within(size: int, flat: dict[str, Json], what: str) -> bool:
    minimum, maximum = _bound(flat, f"min{what}"), _bound(flat, f"max{what}")
    return (minimum is None or size >= minimum) and (maximum is None or size <= maximum)


def _limits(flat: dict[str, Json]) -> tuple[float | None, bool, float | None, bool]:
    """Return minimum, whether it is excluded, maximum, and whether it is excluded, for OpenAPI 3.0 and 3.1."""
    low, high = as_number(flat.get("minimum")), as_number(flat.get("maximum"))
    above, below = flat.get("exclusiveMinimum"), flat.get("exclusiveMaximum")
    excludes_low, excludes_high = is_true(above), is_true(below)
    if (number := as_number(above)) is not None and (low is None or number >= low):
        low, excludes_low = number, True
    if (number := as_number(below)) is not None and (high is None or number <= high):
        high, excludes_high = number, True
    return low, excludes_low, high, excludes_high


def _is_number_within(value: float, flat: dict[str, Json]) -> bool:
    low, excludes_low, high, excludes_high = _limits(flat)
    if low is not None and (value < low or (excludes_low and value == low)):
        return False
    if high is not None and (value > high or (excludes_high and value == high)):
        return False
    step = as_number(flat.get("multipleOf"))
    return not step or math.isclose(value / step, round(value / step)) if math.isfinite(value) else False


def _number(flat: dict[str, Json], kind: str) -> float:
    """Return a number within the limits of its schema."""
    if kind == "integer" and flat.get("format") == "unix-time":
        return 1704067200
    low, _, high, _ = _limits(flat)
    step = as_number(flat.get("multipleOf")) or 0
    tried = [1 if kind == "integer" else 1.5, 1, 0, step]
    tried += [edge + more for edge in (low, high) if edge is not None for more in (0, 1, -1, 0.5, -0.5, step)]
    if low is not None and step:
        tried.append(math.ceil(low / step) * step)
    if low is not None and high is not None:
        tried.append((low + high) / 2)
    for number in tried:
        if _is_number_within(number, flat) and (kind != "integer" or float(number).is_integer()):
            return int(number) if float(number).is_integer() and kind == "integer" else number
    return tried[0]


def _size(value: Json) -> int:
    """Return the number of scalars in a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(_size, inner)) if inner else 1


def _mapping(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _sequence(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=str)
