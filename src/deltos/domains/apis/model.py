"""The nouns of an API description, the same for every format. Schemas stay the JSON they were written in.

Those that a description has thousands of are msgspec structs: made and encoded several times faster than dataclasses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import Struct

Json = Any
"""A JSON value exactly as the specification holds it; `$ref`s inside are not resolved."""


GRAPHQL_DATA = "data"
"""The status under which GraphQL answers: its types lead to one another without end."""


class ApiParameter(Struct, frozen=True, omit_defaults=True):
    """One named input of an operation."""

    name: str
    location: str
    required: bool
    schema: Json
    description: str = ""


class Content(Struct, frozen=True, omit_defaults=True):
    """A body in one media type, with examples that its author wrote.

    `deep` are the fields of a form whose inner keys stand in brackets.
    """

    media_type: str
    schema: Json
    examples: tuple[Json, ...] = ()
    deep: tuple[str, ...] = ()


class Response(Struct, frozen=True, omit_defaults=True):
    """What comes back under one status."""

    status: str
    description: str
    contents: tuple[Content, ...] = ()


class Operation(Struct, frozen=True, omit_defaults=True):
    """Something that can be called; known by its method and path."""

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
        """`METHOD path`: unique in its API."""
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
    """A group of operations."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class SecurityScheme:
    """A way to prove who calls: `kind` is http, apiKey, oauth2, openIdConnect or what the format calls it."""

    name: str
    kind: str
    scheme: str = ""
    location: str = ""
    parameter: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Overview:
    """What an API says of itself."""

    title: str
    version: str
    kind: str
    description: str = ""
    servers: tuple[str, ...] = ()
    tags: tuple[Tag, ...] = ()
    security_schemes: tuple[SecurityScheme, ...] = ()


@dataclass(frozen=True, slots=True)
class ApiDescription:
    """One API, read: everything the index keeps of it. `fragments` are the other targets of its `$ref`s."""

    overview: Overview
    operations: tuple[Operation, ...]
    schemas: tuple[Schema, ...]
    fragments: dict[str, Json] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Api:
    """One indexed API as the library lists it."""

    name: str
    source: str
    citation: str
    overview: Overview
    operation_count: int
    schema_count: int
    webhook_count: int
    warnings: tuple[str, ...]
    indexed_at: float


@dataclass(frozen=True, slots=True)
class ApiHit:
    """A found part of an API, ready to show: `citation` is the specification's address and a JSON pointer.

    `score` compares parts in one answer; `confidence` (0 to 1) means the same in every answer.
    `is_clear` when the question is plainly about it, `is_near` when it shares no word with the question.
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
    is_near: bool = False


@dataclass(frozen=True, slots=True)
class OperationChange:
    """One operation that is not as it was; `breaking` holds the reasons why callers may fail."""

    key: str
    what: Literal["added", "removed", "changed"]
    breaking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApiChanges:
    """What a new version of a description changed."""

    api_name: str
    old_version: str
    new_version: str
    changes: tuple[OperationChange, ...]
    schemas_added: tuple[str, ...] = ()
    schemas_removed: tuple[str, ...] = ()
    note: str = ""
