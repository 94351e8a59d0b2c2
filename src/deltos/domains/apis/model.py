"""Data types of API descriptions that do not depend on the format of the description.

Schemas keep the JSON of the specification. Types with thousands of instances are msgspec structs, which can be created
and encoded several times faster than dataclasses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

Json = Any
"""A JSON value as written in the specification, with unresolved `$ref`s."""


GRAPHQL_DATA = "data"
"""Value of `Response.status` for GraphQL responses."""


class ApiParameter(Struct, frozen=True, omit_defaults=True):
    """A named parameter of an operation."""

    name: str
    location: str
    required: bool
    schema: Json
    description: str = ""


class Content(Struct, frozen=True, omit_defaults=True):
    """Body of a request or response in one media type, with the documented examples.

    `deep` contains the names of form fields with the style `deepObject`, whose nested keys are written in brackets.
    """

    media_type: str
    schema: Json
    examples: tuple[Json, ...] = ()
    deep: tuple[str, ...] = ()


class Response(Struct, frozen=True, omit_defaults=True):
    """The response for one status code."""

    status: str
    description: str
    contents: tuple[Content, ...] = ()


class Operation(Struct, frozen=True, omit_defaults=True):
    """A callable operation, identified by method and path."""

    method: str
    path: str
    pointer: str
    name: str = ""
    summary: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    parameters: tuple[ApiParameter, ...] = ()
    bodies: tuple[Content, ...] = ()
    body_required: bool = False
    responses: tuple[Response, ...] = ()
    security: tuple[tuple[str, ...], ...] = ()
    server: str = ""
    deprecated: bool = False
    webhook: bool = False

    @property
    def key(self) -> str:
        """The method and path, which identify the operation: `METHOD path`."""
        return f"{self.method} {self.path}"


class Schema(Struct, frozen=True, omit_defaults=True):
    """A named type of an API."""

    name: str
    pointer: str
    schema: Json
    description: str = ""
    message: bool = False


@dataclass(frozen=True, slots=True)
class Tag:
    """A named group of operations."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class SecurityScheme:
    """An authentication scheme; `kind` is http, apiKey, oauth2, openIdConnect, or a name defined by the format."""

    name: str
    kind: str
    scheme: str = ""
    location: str = ""
    parameter: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Overview:
    """General information about an API."""

    title: str
    version: str
    kind: str
    description: str = ""
    servers: tuple[str, ...] = ()
    tags: tuple[Tag, ...] = ()
    security_schemes: tuple[SecurityScheme, ...] = ()


@dataclass(frozen=True, slots=True)
class ApiDescription:
    """A parsed API description; `fragments` contains the values of reference targets that are not named schemas."""

    overview: Overview
    operations: tuple[Operation, ...]
    schemas: tuple[Schema, ...]
    fragments: dict[str, Json] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Api:
    """An indexed API, as shown in lists of APIs."""

    name: str
    source: str
    citation: str
    overview: Overview
    operation_count: int
    schema_count: int
    webhook_count: int
    warnings: tuple[str, ...]
    indexed_at: float
    projects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApiHit:
    """A search result; `citation` is the URL or path of the description with a JSON pointer.

    `score` orders the results of one answer; `confidence` (0 to 1) is comparable between answers. `is_clear` marks an
    operation or schema to which the query clearly refers, `is_semantic_match` a match without shared terms.
    """

    id: str
    api_name: str
    api_version: str
    type: str
    citation: str
    section: str
    title: str
    text: str
    score: float
    confidence: float = 1.0
    is_clear: bool = False
    is_semantic_match: bool = False
