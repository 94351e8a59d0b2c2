"""Parser of the JSON result of a GraphQL introspection query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.apis.parse.graphql import (
    BUILT_IN,
    MAX_LIST_DEPTH,
    ROOT_KINDS,
    Field,
    GraphqlSchema,
    TypeDefinition,
    describe,
)
from deltos.domains.apis.spec_text import is_flag_set, mapping, sequence, text_of

if TYPE_CHECKING:
    from deltos.domains.apis.model import ApiDescription, Json

_KIND_NAMES = {
    "OBJECT": "type",
    "INTERFACE": "interface",
    "INPUT_OBJECT": "input",
    "ENUM": "enum",
    "UNION": "union",
    "SCALAR": "scalar",
}


def parse_introspection(root: dict[str, Json]) -> ApiDescription:
    """Parse an introspection result, with or without the `data` object around it."""
    raw = mapping(mapping(root.get("data", root)).get("__schema"))
    schema = GraphqlSchema(description=text_of(raw.get("description")))
    for kind in ROOT_KINDS:
        if name := text_of(mapping(raw.get(f"{kind}Type")).get("name")):
            schema.roots[kind] = name
    for given in map(mapping, sequence(raw.get("types"))):
        name = text_of(given.get("name"))
        if name and not name.startswith("__") and name not in BUILT_IN:
            schema.types[name] = _read_type(name, given)
    return describe(schema)


def _read_type(name: str, raw: dict[str, Json]) -> TypeDefinition:
    """Return a type of an introspection result."""
    kind = _KIND_NAMES.get(text_of(raw.get("kind")), "type")
    members = [text_of(mapping(each).get("name")) for each in sequence(raw.get("interfaces"))]
    if kind == "union":
        members = [text_of(mapping(each).get("name")) for each in sequence(raw.get("possibleTypes"))]
    given = sequence(raw.get("fields")) or sequence(raw.get("inputFields")) or sequence(raw.get("enumValues"))
    return TypeDefinition(
        kind, name, text_of(raw.get("description")), [_read_field(mapping(each)) for each in given], members
    )


def _read_field(raw: dict[str, Json]) -> Field:
    """Return a field, argument or enum value of an introspection result."""
    return Field(
        name=text_of(raw.get("name")),
        type=_type_text(raw.get("type")),
        description=text_of(raw.get("description")),
        default=text_of(raw.get("defaultValue")),
        deprecated=is_flag_set(raw.get("isDeprecated")),
        arguments=[_read_field({**each, "args": None}) for each in map(mapping, sequence(raw.get("args")))],
    )


def _type_text(raw: Json) -> str:
    """Return nested `NON_NULL` and `LIST` types in GraphQL syntax, such as `[User]!`."""
    prefix, suffix = "", ""
    for _ in range(2 * MAX_LIST_DEPTH):
        kind = mapping(raw).get("kind")
        if kind == "NON_NULL":
            suffix = f"!{suffix}"
        elif kind == "LIST":
            prefix, suffix = f"{prefix}[", f"]{suffix}"
        else:
            break
        raw = mapping(raw).get("ofType")
    return f"{prefix}{text_of(mapping(raw).get('name'))}{suffix}"
