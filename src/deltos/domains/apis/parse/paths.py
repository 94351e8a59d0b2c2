"""Parser for the `paths` of OpenAPI and Swagger; AsyncAPI uses some functions. A `Dialect` contains the differences."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.domains.apis.model import ApiParameter, Operation, Schema, SecurityScheme, Tag
from deltos.domains.apis.refs import ReferenceFollower, escape_token
from deltos.domains.apis.spec_text import (
    first_sentence,
    is_flag_set,
    mapping,
    name_from_path,
    sequence,
    summary_from_path,
    text_of,
)
from deltos.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.domains.apis.model import Content, Json, Response

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
# References to external security schemes (OpenAPI 3.2) start with these prefixes.
_URI_PREFIXES = ("#", ".", "/", "http:", "https:")
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")


@dataclass(frozen=True, slots=True)
class Dialect:
    """Functions that read bodies, responses and parameter types in one specification version."""

    read_bodies: Callable[[PathReader, dict[str, Json], list[dict[str, Json]]], tuple[tuple[Content, ...], bool]]
    read_response: Callable[[PathReader, str, dict[str, Json], dict[str, Json]], Response]
    read_parameter_schema: Callable[[dict[str, Json]], Json]
    body_locations: frozenset[str] = frozenset()
    responses_vary: bool = False  # whether the meaning of a shared response depends on the operation that uses it


@dataclass(slots=True)
class PathReader:
    """Reads all operations of a `paths` mapping; shared parameters and responses are parsed only once."""

    references: ReferenceFollower
    dialect: Dialect
    security: tuple[tuple[str, ...], ...] = ()
    warnings: list[str] = field(default_factory=list)
    # The keys are object ids, which are unique because the document outlives the reader.
    _parameters: dict[int, ApiParameter] = field(default_factory=dict)
    _shared_responses: dict[tuple[int, str], Response] = field(default_factory=dict)

    def operations(self, paths: Json, section: str, *, webhook: bool = False) -> Iterator[Operation]:
        """Yield the operations of one section in document order."""
        for path, item in mapping(paths).items():
            item = self.references.follow(item)
            if not isinstance(item, dict) or path.startswith("x-"):
                continue
            pointer = f"#/{section}/{escape_token(path)}"
            for method in METHODS:
                if method in item:
                    yield self._operation(method, path, item, f"{pointer}/{method}", webhook=webhook)
            # OpenAPI 3.2 allows other methods.
            further = mapping(self.references.follow(item.get("additionalOperations")))
            for method in further:
                method_pointer = f"{pointer}/additionalOperations/{escape_token(method)}"
                yield self._operation(method, path, {**item, **further}, method_pointer, webhook=webhook)

    def _operation(self, method: str, path: str, item: dict[str, Json], pointer: str, *, webhook: bool) -> Operation:
        """Return one operation of a path."""
        raw = self.references.follow(item[method])
        if not isinstance(raw, dict):
            self.warnings.append(f"{method.upper()} {path} is not a mapping.")
            raw = {}
        given = self._raw_parameters(item, raw)
        bodies, body_required = self.dialect.read_bodies(self, raw, given)
        method = method.upper()
        description = text_of(raw.get("description")) or text_of(item.get("description"))
        summary = text_of(raw.get("summary")) or text_of(item.get("summary")) or first_sentence(description)
        return Operation(
            method=method,
            path=path,
            pointer=pointer,
            name=text_of(raw.get("operationId")) or name_from_path(method, path),
            summary=summary.strip() or summary_from_path(method, path),
            description=description,
            tags=tuple(filter(None, map(tag_name, sequence(raw.get("tags"))))),
            parameters=tuple(
                self._parameter(p) for p in given if text_of(p.get("in")) not in self.dialect.body_locations
            ),
            bodies=bodies,
            body_required=body_required,
            responses=self._responses(raw),
            security=read_security(raw["security"]) if "security" in raw else self.security,
            server=first_server(raw) or first_server(item),
            deprecated=is_flag_set(raw.get("deprecated")),
            webhook=webhook,
        )

    def _raw_parameters(self, item: dict[str, Json], raw: dict[str, Json]) -> list[dict[str, Json]]:
        """Return the parameters of a path and an operation; parameters of the operation take precedence."""
        merged: dict[tuple[Json, Json], dict[str, Json]] = {}
        for given in (*sequence(item.get("parameters")), *sequence(raw.get("parameters"))):
            parameter = self.references.follow(given)
            if isinstance(parameter, dict) and parameter:
                merged[str(parameter.get("name")), str(parameter.get("in"))] = parameter
        return list(merged.values())

    def _parameter(self, raw: dict[str, Json]) -> ApiParameter:
        """Return a parsed parameter; shared parameters are parsed only once."""
        known = self._parameters.get(id(raw))
        if known is None:
            known = self._parameters[id(raw)] = self._read_parameter(raw)
        return known

    def _read_parameter(self, raw: dict[str, Json]) -> ApiParameter:
        schema = self.dialect.read_parameter_schema(raw)
        described = text_of(raw.get("description"))
        # Some authors put the description of the parameter into its schema.
        if not described and isinstance(schema, dict):
            described = text_of(schema.get("description"))
        return ApiParameter(
            name=text_of(raw.get("name")),
            location=text_of(raw.get("in")),
            required=is_flag_set(raw.get("required")) or raw.get("in") == "path",
            schema=schema,
            description=described,
        )

    def _responses(self, raw: dict[str, Json]) -> tuple[Response, ...]:
        """Return the responses of an operation."""
        found = []
        for status, given in mapping(raw.get("responses")).items():
            response = self.references.follow(given)
            if isinstance(response, dict) and not status.startswith("x-"):
                found.append(self._response(status, response, raw))
        return tuple(found)

    def _response(self, status: str, response: dict[str, Json], raw: dict[str, Json]) -> Response:
        """Return a parsed response; shared responses are parsed only once."""
        if self.dialect.responses_vary or not response:
            return self.dialect.read_response(self, status, response, raw)
        known = self._shared_responses.get((id(response), status))
        if known is None:
            known = self._shared_responses[id(response), status] = self.dialect.read_response(
                self, status, response, raw
            )
        return known


def tag_name(tag: Json) -> str:
    """Return the name of a tag, which may be given as text or as a mapping."""
    return text_of(mapping(tag).get("name")) or text_of(tag)


def read_tags(value: Json) -> tuple[Tag, ...]:
    """Return the tags declared in a document."""
    declared = (tag for tag in map(mapping, sequence(value)) if tag.get("name"))
    return tuple(Tag(text_of(tag["name"]), text_of(tag.get("description"))) for tag in declared)


def read_security(value: Json) -> tuple[tuple[str, ...], ...]:
    """Return alternative sets of security schemes; a request needs all schemes of one set."""
    return tuple(tuple(need) for need in sequence(value) if isinstance(need, dict))


def first_server(holder: dict[str, Json]) -> str:
    """Return the first server URL of a document, path or operation."""
    if not holder.get("servers"):
        return ""
    servers = read_servers(holder["servers"])
    return servers[0] if servers else ""


def read_servers(value: Json) -> tuple[str, ...]:
    """Return server URLs with the default values of their variables."""
    urls = []
    for server in map(mapping, sequence(value)):
        url = text_of(server.get("url"))
        for name, variable in mapping(server.get("variables")).items():
            if default := text_of(mapping(variable).get("default")):
                url = url.replace("{" + name + "}", default)
        urls.append(url)
    return tuple(filter(None, urls))


def read_schemas(section: Json, pointer: str) -> tuple[Schema, ...]:
    """Return the named schemas in one section of a document, such as `components/schemas`."""
    return tuple(
        Schema(name, f"{pointer}/{escape_token(name)}", schema, text_of(mapping(schema).get("description")))
        for name, schema in mapping(section).items()
    )


def equivalent_path_warnings(operations: tuple[Operation, ...]) -> list[str]:
    """Return a warning if operations differ only in the names of path parameters."""
    seen: dict[str, str] = {}
    repeated = []
    for operation in operations:
        shape = _PLACEHOLDER.sub("{}", operation.key)
        if shape in seen:
            repeated.append(operation.key)
        seen[shape] = operation.key
    return (
        [f"{counted(len(repeated), 'operation')} with the method and path pattern of another, such as {repeated[0]}."]
        if repeated
        else []
    )


def unknown_scheme_warnings(operations: tuple[Operation, ...], schemes: dict[str, Json]) -> list[str]:
    """Return a warning for each security scheme that operations use but the description does not define."""
    if "$ref" in schemes:
        return []
    needed = {name: op.key for op in reversed(operations) for need in op.security for name in need}
    return [
        f"Security scheme '{name}', used by {needed[name]}, is not defined."
        for name in reversed(needed)
        if name not in schemes and not name.startswith(_URI_PREFIXES)
    ]


def read_security_scheme(name: str, raw: dict[str, Json]) -> SecurityScheme:
    """Return a security scheme of OpenAPI or AsyncAPI."""
    return SecurityScheme(
        name=name,
        kind=text_of(raw.get("type")),
        scheme=text_of(raw.get("scheme")),
        location=text_of(raw.get("in")),
        parameter=text_of(raw.get("name")),
        description=text_of(raw.get("description")),
    )
