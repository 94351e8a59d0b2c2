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
# Fields that are selected first, because many schemas list fields alphabetically.
_PREFERRED_FIELDS = ("id", "number", "name", "title", "url", "state")
_LEAF_KINDS = ("enum", "scalar")  # kinds of types that contain no fields


def graphql_document(operation: Operation, sampler: Sampler) -> str:
    """Return a GraphQL query for an operation, of the form `query { field(argument: value) { fields } }`."""
    arguments = [
        f"{each.name}: {_graphql_literal(sampler.value(each.schema), each.schema, sampler)}"
        for each in operation.parameters
        if each.required
    ]
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


def _type_definition(schema: Json, resolve: Resolve) -> dict[str, Json]:
    """Return the definition of a field's type or, for a list, of the item type; empty for built-in types."""
    while isinstance(schema, dict) and "$ref" not in schema:
        schema = schema.get("items")
    target = text_of(mapping(schema).get("$ref"))
    return mapping(resolve(target)) if target else {}


def _field_selection(schema: Json, resolve: Resolve) -> str:
    """Return a selection of the first scalar fields of an object type in braces; empty for scalars and enums."""
    definition = _type_definition(schema, resolve)
    if not definition or definition.get("x-kind") in _LEAF_KINDS:
        return ""
    names = [
        name
        for name, member in mapping(definition.get("properties")).items()
        if "deprecated" not in member
        and not text_of(member.get("x-arguments"))
        and _type_definition(member, resolve).get("x-kind", "scalar") in _LEAF_KINDS
    ]
    chosen = [*(name for name in _PREFERRED_FIELDS if name in names), *(n for n in names if n not in _PREFERRED_FIELDS)]
    return f" {{ {' '.join(chosen[:MAX_SCALAR_FIELDS]) or '__typename'} }}"
