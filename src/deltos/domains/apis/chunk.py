"""Split an API description into searchable entries (operations, schemas, tags and an overview) with index terms."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from deltos.domains.apis.refs import reference_name
from deltos.domains.apis.spec_text import group_from_path, index_words, one_line, strip_markup
from deltos.store.apis import NewUnit, UnitRow, UnitWords

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.domains.apis.model import ApiDescription, Content, Json, Operation, Schema

MAX_FIELDS = 60  # maximum number of indexed fields or enum values of a schema
MAX_SHARED_DESCRIPTION_USES = 5  # a description shared by more parameters and responses is not indexed
MAX_DESCRIPTION_CHARACTERS = 2_000
MAX_PARAMETER_CHARACTERS = 160  # maximum number of indexed characters of a parameter or response description
MAX_RESPONSES = 40
MAX_TITLE_CHARACTERS = 200
_COMBINATORS = ("allOf", "oneOf", "anyOf")

encode = msgspec.json.Encoder().encode


def chunk_api(description: ApiDescription) -> Iterator[NewUnit]:
    """Return the overview, tags, operations and schemas of an API as searchable entries, in this order."""
    targets = {schema.pointer: schema.schema for schema in description.schemas} | description.fragments
    words = _UnitWordCollector(targets, _shared_descriptions(description.operations))
    groups = group_operations(description.operations)
    yield _overview_unit(description, groups)
    yield from _tag_units(description, groups)
    for key, operation in unique_keys(description.operations):
        yield _operation_unit(key, operation, words)
    for schema in description.schemas:
        yield _schema_unit(schema, words)
    for pointer, value in description.fragments.items():
        yield NewUnit(UnitRow("fragment", pointer, pointer), encode(value), None)


def group_of(operation: Operation) -> str:
    """Return the group in which an operation is listed: its first tag, or the first segment of its path."""
    if operation.webhook:
        return "webhooks"
    return operation.tags[0] if operation.tags else group_from_path(operation.path)


def group_operations(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    """Return operations by group, in the order in which the groups first appear."""
    groups: dict[str, list[Operation]] = {}
    for operation in operations:
        groups.setdefault(group_of(operation), []).append(operation)
    return groups


def unique_keys(operations: Iterable[Operation]) -> Iterator[tuple[str, Operation]]:
    """Yield each operation with a unique key: method and path and, if needed, the operation's name and a number."""
    seen: set[str] = set()
    numbers: dict[str, int] = {}  # last number appended to each key
    for operation in operations:
        key = f"WEBHOOK {operation.key}" if operation.webhook else operation.key
        if key in seen:
            key = f"{key}#{operation.name}"
        unnumbered = key
        while key in seen:
            numbers[unnumbered] = numbers.get(unnumbered, 1) + 1
            key = f"{unnumbered}~{numbers[unnumbered]}"
        seen.add(key)
        yield key, operation


def _shared_descriptions(operations: Iterable[Operation]) -> frozenset[str]:
    """Return the descriptions that more than `MAX_SHARED_DESCRIPTION_USES` parameters or responses share."""
    counts: Counter[str] = Counter()
    for operation in operations:
        counts.update(parameter.description for parameter in operation.parameters)
        counts.update(response.description for response in operation.responses)
    return frozenset(text for text, count in counts.items() if count > MAX_SHARED_DESCRIPTION_USES)


def _overview_unit(description: ApiDescription, groups: dict[str, list[Operation]]) -> NewUnit:
    """Return the searchable entry for the title and description of an API."""
    overview = description.overview
    row = UnitRow("overview", "overview", "#", overview.title)
    words = UnitWords(
        names=index_words(overview.title),
        title=overview.title,
        tags=" ".join(groups),
        description=strip_markup(overview.description)[:MAX_DESCRIPTION_CHARACTERS],
        details=" ".join(scheme.kind + " " + scheme.description for scheme in overview.security_schemes),
    )
    return NewUnit(row, b"", words)


def _tag_units(description: ApiDescription, groups: dict[str, list[Operation]]) -> Iterator[NewUnit]:
    """Yield a searchable entry for each group of operations, which is a tag or the first segment of a path."""
    described = {tag.name: tag.description for tag in description.overview.tags}
    pointers = {tag.name: f"#/tags/{index}" for index, tag in enumerate(description.overview.tags)}
    for name, operations in groups.items():
        row = UnitRow("tag", f"tag {name}", pointers.get(name, "#"), name, name)
        text = strip_markup(described.get(name, ""))[:MAX_DESCRIPTION_CHARACTERS]
        listed = " ".join(operation.summary for operation in operations[:20])
        yield NewUnit(row, encode(described.get(name, "")), UnitWords(index_words(name), name, name, text, listed))


def _operation_unit(key: str, operation: Operation, words: _UnitWordCollector) -> NewUnit:
    """Return the searchable entry for an operation or webhook."""
    group = group_of(operation)
    row = UnitRow(
        kind="webhook" if operation.webhook else "operation",
        key=key,
        pointer=operation.pointer,
        title=one_line(operation.summary, MAX_TITLE_CHARACTERS),
        grouping=group,
        method=operation.method,
        path=operation.path,
        tags=encode(operation.tags),
        deprecated=operation.deprecated,
    )
    words_row = UnitWords(
        names=f"{index_words(operation.path)} {index_words(operation.name)}",
        title=row.title,
        tags=" ".join(map(index_words, operation.tags or (group,))),
        description=strip_markup(operation.description[:MAX_DESCRIPTION_CHARACTERS]),
        details=words.of_operation(operation),
    )
    return NewUnit(row, encode(operation), words_row)


def _schema_unit(schema: Schema, words: _UnitWordCollector) -> NewUnit:
    """Return the searchable entry for a schema or message."""
    row = UnitRow("message" if schema.message else "schema", f"schema {schema.name}", schema.pointer, schema.name)
    title = schema.schema.get("title") if isinstance(schema.schema, dict) else None
    words_row = UnitWords(
        names=index_words(schema.name),
        title=title if isinstance(title, str) else "",
        description=strip_markup(schema.description[:MAX_DESCRIPTION_CHARACTERS]),
        details=words.of_schema(schema.schema),
    )
    return NewUnit(row, encode(schema.schema), words_row)


@dataclass(slots=True)
class _UnitWordCollector:
    """Collects the index terms of operations and schemas; terms of referenced schemas are cached."""

    targets: dict[str, Json]
    shared_descriptions: frozenset[str]
    _cache: dict[str, str] = field(default_factory=dict)

    def of_operation(self, operation: Operation) -> str:
        """Return the index terms of an operation's parameters, request bodies and responses."""
        parts: list[str] = []
        for parameter in operation.parameters:
            parts.append(index_words(parameter.name))
            if parameter.description not in self.shared_descriptions:
                parts.append(parameter.description[:MAX_PARAMETER_CHARACTERS])
            if parameter.location == "argument":  # the type of a GraphQL argument may have fields, like a request body
                parts.append(self._fields(parameter.schema, 0))
        parts.extend(map(self._content, operation.bodies[:3]))
        for response in operation.responses[:MAX_RESPONSES]:
            if response.description not in self.shared_descriptions:
                parts.append(response.description[:MAX_PARAMETER_CHARACTERS])
            if response.status[:1] not in ("4", "5"):
                parts.extend(map(self._content, response.contents[:1]))
        return " ".join(parts)

    def of_schema(self, schema: Json) -> str:
        """Return the names of a schema's fields and enum values."""
        return self._fields(schema, 0)

    def _content(self, content: Content) -> str:
        """Return the index terms of a request or response body."""
        return self._fields(content.schema, 0)

    def _fields(self, schema: Json, hops: int) -> str:
        """Return the index terms of a schema's fields, enum values and nested schemas, up to 4 levels deep."""
        if not isinstance(schema, dict) or hops > 4:
            return ""
        target = schema.get("$ref")
        if isinstance(target, str):
            if target not in self._cache:
                self._cache[target] = ""
                fields = self._fields(self.targets.get(target), hops + 1)
                self._cache[target] = f"{index_words(reference_name(target))} {fields}"
            return self._cache[target]
        parts: list[str] = []
        properties = schema.get("properties")
        if isinstance(properties, dict):
            parts.extend(map(index_words, list(properties)[:MAX_FIELDS]))
        if isinstance(values := schema.get("enum"), list):
            parts.extend(index_words(value) for value in values[:MAX_FIELDS] if isinstance(value, str))
        if "items" in schema:
            parts.append(self._fields(schema["items"], hops + 1))
        for name in _COMBINATORS:
            if isinstance(options := schema.get(name), list):
                parts.extend(self._fields(option, hops + 1) for option in options[:10])
        return " ".join(parts)
