"""Build an example GraphQL query for one operation, with the required arguments and a selection of fields."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from deltos.domains.apis.spec_text import mapping, sequence, text_of

if TYPE_CHECKING:
    from deltos.domains.apis.model import Json, Operation
    from deltos.domains.apis.outline import Resolve
    from deltos.domains.apis.sample import Sampler

MAX_SCALAR_FIELDS = 5
MAX_LEVELS = 8
_PAGE_SIZE_ARGUMENT = "first: 10"
# Fields that are selected first, because many schemas list fields alphabetically.
_PREFERRED_FIELDS = ("id", "number", "name", "title", "url", "state")
_IGNORED_FIELD = "clientMutationId"


def graphql_document(operation: Operation, sampler: Sampler) -> str:
    """Return a GraphQL query for an operation, of the form `query { field(argument: value) { fields } }`."""
    arguments = [
        f"{each.name}: {_graphql_literal(sampler.value(each.schema), each.schema, sampler)}"
        for each in operation.parameters
        if each.required
    ]
    sizes = (each for each in operation.parameters if each.name == "first" and not each.required)
    arguments += [_PAGE_SIZE_ARGUMENT for each in sizes if "default" not in each.schema]
    response = operation.responses[0].contents[0].schema if operation.responses else None
    given = f"({', '.join(arguments)})" if arguments else ""
    return f"{operation.method.lower()} {{ {operation.path}{given}{_field_selection(response, sampler.resolve)} }}"


def _graphql_literal(value: Json, schema: Json, sampler: Sampler) -> str:
    """Return a value as a GraphQL literal; enum values and field names are not quoted."""
    flat = sampler.merge_parts(schema)
    if isinstance(value, list):
        return f"[{', '.join(_graphql_literal(each, flat.get('items'), sampler) for each in value)}]"
    if isinstance(value, dict):
        members = mapping(flat.get("properties"))
        fields = (f"{name}: {_graphql_literal(part, members.get(name), sampler)}" for name, part in value.items())
        return f"{{{', '.join(fields)}}}"
    return str(value) if value in sequence(flat.get("enum")) else json.dumps(value)


def _type_definition(schema: Json, resolve: Resolve) -> tuple[str, dict[str, Json]]:
    """Return the name and definition of a field's type or, for a list, of the item type; empty for built-in types."""
    while isinstance(schema, dict) and "$ref" not in schema:
        schema = schema.get("items")
    target = text_of(mapping(schema).get("$ref"))
    return target, mapping(resolve(target)) if target else {}


def _is_leaf(schema: Json, resolve: Resolve) -> bool:
    """Whether the type of a field is a scalar or enum, so that it contains no fields."""
    target, definition = _type_definition(schema, resolve)
    return not target or definition.get("x-kind") in ("enum", "scalar")


def _field_selection(schema: Json, resolve: Resolve, seen: tuple[str, ...] = ()) -> str:
    """Return a selection of fields in braces: the scalar fields of a type, or the fields of the first object in it."""
    if _is_leaf(schema, resolve):
        return ""
    target, definition = _type_definition(schema, resolve)
    seen = (*seen, target)
    members = {
        name: member
        for name, member in mapping(definition.get("properties")).items()
        if name != _IGNORED_FIELD and "deprecated" not in member and not _needs_arguments(member)
    }
    scalars = sorted((name for name, member in members.items() if _is_leaf(member, resolve)), key=_field_rank)
    inner = [
        name for name in members if name not in scalars and _type_definition(members[name], resolve)[0] not in seen
    ]
    pages = [name for name in ("nodes", "edges", "node") if name in inner]
    chosen = scalars[:MAX_SCALAR_FIELDS] if scalars and not pages else (pages or inner)[: len(seen) < MAX_LEVELS]
    fields = [
        f"{name}{f'({_PAGE_SIZE_ARGUMENT})' if 'first: Int' in _arguments(members[name]) else ''}"
        f"{_field_selection(members[name], resolve, seen)}"
        for name in chosen
    ]
    return f" {{ {' '.join(fields) or '__typename'} }}"


def _field_rank(name: str) -> int:
    """Return the sort key of a field: preferred fields come first."""
    return _PREFERRED_FIELDS.index(name) if name in _PREFERRED_FIELDS else len(_PREFERRED_FIELDS)


def _arguments(member: Json) -> list[str]:
    """Return the arguments of a field as text, such as `first: Int`."""
    return text_of(member.get("x-arguments")).split(", ")


def _needs_arguments(member: Json) -> bool:
    """Whether a field has required arguments."""
    return any(argument.endswith("!") for argument in _arguments(member))
