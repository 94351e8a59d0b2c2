"""Convert GraphQL types, read from the schema language or from introspection, to operations and schemas."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.domains.apis.model import (
    GRAPHQL_DATA,
    ApiDescription,
    ApiParameter,
    Content,
    Operation,
    Overview,
    Response,
    Schema,
)
from deltos.domains.apis.spec_text import first_sentence, split_words

if TYPE_CHECKING:
    from deltos.domains.apis.model import Json

ROOT_KINDS = ("query", "mutation", "subscription")
# JSON Schema types of the built-in scalar types.
BUILT_IN = {"Int": "integer", "Float": "number", "String": "string", "Boolean": "boolean", "ID": "ID"}
MAX_LIST_DEPTH = 20


@dataclass(slots=True)
class Field:
    """A field, argument or enum value; `type` has GraphQL syntax such as `[User!]!`."""

    name: str
    type: str = ""
    description: str = ""
    default: str = ""
    deprecated: bool = False
    arguments: list[Field] = field(default_factory=list)


@dataclass(slots=True)
class TypeDefinition:
    """A named GraphQL type: object, interface, input, enum, union or scalar."""

    kind: str
    name: str
    description: str = ""
    fields: list[Field] = field(default_factory=list)
    members: list[str] = field(default_factory=list)


@dataclass(slots=True)
class GraphqlSchema:
    """All types of a GraphQL schema, and the names of its root types."""

    types: dict[str, TypeDefinition] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    description: str = ""
    warnings: list[str] = field(default_factory=list)

    def root_names(self) -> dict[str, str]:
        """The root type of each kind of operation: the declared name, or `Query`, `Mutation` or `Subscription`."""
        return self.roots or {kind: kind.capitalize() for kind in ROOT_KINDS if kind.capitalize() in self.types}


def describe(schema: GraphqlSchema) -> ApiDescription:
    """Convert a GraphQL schema to an `ApiDescription`."""
    operations = tuple(
        _operation(kind, root, member)
        for kind, root in schema.root_names().items()
        if root in schema.types
        for member in schema.types[root].fields
    )
    schemas = tuple(
        Schema(each.name, f"#/{each.name}", _type_schema(each), each.description) for each in schema.types.values()
    )
    warnings = list(schema.warnings)
    if not operations:
        warnings.append("The schema has no queries or mutations.")
    overview = Overview(title="", version="", kind="GraphQL", description=schema.description)
    return ApiDescription(overview, operations, schemas, warnings=tuple(warnings))


def type_reference(type_text: str) -> Json:
    """Convert a GraphQL type such as `[User!]!` to a JSON schema."""
    name = type_text.strip("[]! \t\n")
    schema: Json = {"type": BUILT_IN[name]} if name in BUILT_IN else {"$ref": f"#/{name}"}
    for _ in range(min(type_text.count("["), MAX_LIST_DEPTH)):
        schema = {"type": "array", "items": schema}
    return schema


def _operation(kind: str, root: str, member: Field) -> Operation:
    """Convert a field of a root type to an operation."""
    return Operation(
        method=kind.upper(),
        path=member.name,
        pointer=f"#/{root}/{member.name}",
        name=member.name,
        summary=first_sentence(member.description) or split_words(member.name).capitalize(),
        description=member.description,
        tags=(root,),
        parameters=tuple(_argument_parameter(argument) for argument in member.arguments),
        responses=(Response(GRAPHQL_DATA, member.type, (Content("", type_reference(member.type)),)),),
        deprecated=member.deprecated,
    )


def _argument_parameter(argument: Field) -> ApiParameter:
    """Return an argument of a field as a parameter."""
    schema = {**type_reference(argument.type), **({"default": argument.default} if argument.default else {})}
    required = argument.type.endswith("!") and not argument.default
    return ApiParameter(argument.name, "argument", required, schema, argument.description)


def _type_schema(definition: TypeDefinition) -> Json:
    """Return a GraphQL type as a JSON schema."""
    schema: dict[str, Json] = {"x-kind": definition.kind}
    if definition.description:
        schema["description"] = definition.description
    if definition.kind == "enum":
        return {**schema, "type": "string", "enum": [value.name for value in definition.fields]}
    if definition.kind == "scalar":
        return {**schema, "type": "scalar", "format": definition.name.lower()}
    if definition.kind == "union":
        return {**schema, "oneOf": [type_reference(member) for member in definition.members]}
    schema["type"] = "object"
    if definition.members:
        schema["x-implements"] = definition.members
    schema["properties"] = {member.name: _field_schema(member) for member in definition.fields}
    required = [
        member.name
        for member in definition.fields
        if member.type.endswith("!") and not (definition.kind == "input" and member.default)
    ]
    if required:
        schema["required"] = required
    return schema


def _field_schema(member: Field) -> Json:
    """Return the JSON schema of a field."""
    schema = type_reference(member.type)
    if member.description:
        schema["description"] = member.description
    if member.arguments:
        schema["x-arguments"] = ", ".join(f"{each.name}: {each.type}" for each in member.arguments)
    if member.default:
        schema["default"] = member.default
    if member.deprecated:
        schema["deprecated"] = True
    return schema
