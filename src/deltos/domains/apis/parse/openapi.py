"""Parser for OpenAPI 3.0 to 3.2, also used for later versions and for documents without a version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from deltos.domains.apis.model import ApiDescription, Content, Overview, Response
from deltos.domains.apis.parse.paths import (
    Dialect,
    PathReader,
    equivalent_path_warnings,
    read_schemas,
    read_security,
    read_security_scheme,
    read_servers,
    read_tags,
    unknown_scheme_warnings,
)
from deltos.domains.apis.spec_text import is_flag_set, mapping, text_of

if TYPE_CHECKING:
    from deltos.domains.apis.model import Json
    from deltos.domains.apis.refs import ReferenceFollower

KNOWN_VERSIONS = ("3.0", "3.1", "3.2")
MAX_EXAMPLE_CHARACTERS = 2_000
MAX_EXAMPLES = 20  # maximum number of examples considered per request body


def parse_openapi(root: dict[str, Json], references: ReferenceFollower) -> ApiDescription:
    """Parse an OpenAPI 3 document."""
    version = text_of(root.get("openapi"))
    warnings = version_warnings(version)
    reader = PathReader(references, DIALECT, read_security(root.get("security")), warnings)
    components = mapping(root.get("components"))
    operations = tuple(reader.operations(root.get("paths"), "paths"))
    webhooks = [
        op for name in ("webhooks", "x-webhooks") for op in reader.operations(root.get(name), name, webhook=True)
    ]
    info = mapping(root.get("info"))
    overview = Overview(
        title=text_of(info.get("title")),
        version=text_of(info.get("version")),
        kind=f"OpenAPI {version}".strip(),
        description=text_of(info.get("description")) or text_of(info.get("summary")),
        servers=read_servers(root.get("servers")),
        tags=read_tags(root.get("tags")),
        security_schemes=tuple(
            read_security_scheme(name, mapping(references.follow(scheme)))
            for name, scheme in mapping(components.get("securitySchemes")).items()
        ),
    )
    schemas = read_schemas(components.get("schemas"), "#/components/schemas")
    if not operations and not webhooks:
        warnings.append("The description has no operations.")
    warnings += equivalent_path_warnings(operations)
    if "$ref" not in components:
        warnings += unknown_scheme_warnings(operations, mapping(components.get("securitySchemes")))
    return ApiDescription(overview, (*operations, *webhooks), schemas, warnings=tuple(warnings))


def version_warnings(version: str) -> list[str]:
    """Return a warning if the OpenAPI version is unknown or missing."""
    if not version:
        return ["The description has no version; it was parsed as OpenAPI 3.1."]
    if not version.startswith(KNOWN_VERSIONS):
        return [f"OpenAPI {version} is not a known version; it was parsed as 3.1."]
    return []


def _bodies(reader: PathReader, raw: dict[str, Json], _given: object) -> tuple[tuple[Content, ...], bool]:
    """Return the request bodies of an operation, and whether a body is required."""
    if "requestBody" not in raw:
        return (), False
    body = mapping(reader.references.follow(raw["requestBody"]))
    contents = tuple(
        Content(
            media_type,
            content_schema(mapping(content)),
            _body_examples(reader, mapping(content)),
            _deep_object_fields(mapping(mapping(content).get("encoding"))),
        )
        for media_type, content in mapping(body.get("content")).items()
    )
    return contents, is_flag_set(body.get("required"))


def content_schema(content: dict[str, Json]) -> Json:
    """Return the schema of a body; for a stream (OpenAPI 3.2), an array schema of its items."""
    if "schema" not in content and "itemSchema" in content:
        return {"type": "array", "items": content["itemSchema"]}
    return content.get("schema")


def _deep_object_fields(encoding: dict[str, Json]) -> tuple[str, ...]:
    """Return the names of the form fields with the style `deepObject`."""
    return tuple(name for name, how in encoding.items() if mapping(how).get("style") == "deepObject")


def _body_examples(reader: PathReader, content: dict[str, Json]) -> tuple[Json, ...]:
    """Return the examples of a request body with at most `MAX_EXAMPLE_CHARACTERS`."""
    examples = [content.get("example")]
    if examples == [None]:
        given = list(mapping(content.get("examples")).values())[:MAX_EXAMPLES]
        examples = [mapping(reader.references.follow(one)).get("value") for one in given]
    return tuple(
        example
        for example in examples
        if example is not None and len(msgspec.json.encode(example)) <= MAX_EXAMPLE_CHARACTERS
    )


def _response(reader: PathReader, status: str, response: dict[str, Json], _raw: object) -> Response:
    """Return a response with its media types."""
    contents = tuple(
        Content(media_type, content_schema(mapping(reader.references.follow(content))))
        for media_type, content in mapping(response.get("content")).items()
    )
    return Response(status, text_of(response.get("description")), contents)


def _parameter_schema(raw: dict[str, Json]) -> Json:
    """Return the schema of a parameter, which may be given in `content`."""
    if "schema" in raw:
        return raw["schema"]
    for content in mapping(raw.get("content")).values():
        return mapping(content).get("schema")
    return {}


DIALECT = Dialect(_bodies, _response, _parameter_schema)
