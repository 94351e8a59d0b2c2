"""Parser for Swagger 2.0, in which request bodies are parameters, and a host and base path identify the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.apis.model import ApiDescription, Content, Overview, Response, SecurityScheme
from deltos.domains.apis.parse.paths import (
    Dialect,
    PathReader,
    equivalent_path_warnings,
    read_schemas,
    read_security,
    read_tags,
    unknown_scheme_warnings,
)
from deltos.domains.apis.spec_text import is_flag_set, mapping, sequence, text_of

if TYPE_CHECKING:
    from deltos.domains.apis.model import Json
    from deltos.domains.apis.refs import ReferenceFollower

_NON_SCHEMA_KEYS = frozenset(("name", "in", "required", "description", "allowEmptyValue"))
_MULTIPART_MEDIA_TYPE = "multipart/form-data"
_FORM_MEDIA_TYPE = "application/x-www-form-urlencoded"


def parse_swagger(root: dict[str, Json], references: ReferenceFollower) -> ApiDescription:
    """Parse a Swagger 2.0 document."""
    version = text_of(root.get("swagger"))
    warnings = [] if version == "2.0" else [f"Swagger {version} is not a known version; it was parsed as 2.0."]
    media = {name: sequence(root.get(name)) for name in ("consumes", "produces")}
    reader = PathReader(references, _dialect(media), read_security(root.get("security")), warnings)
    operations = tuple(reader.operations(root.get("paths"), "paths"))
    info = mapping(root.get("info"))
    overview = Overview(
        title=text_of(info.get("title")),
        version=text_of(info.get("version")),
        kind=f"Swagger {version}",
        description=text_of(info.get("description")),
        servers=_servers(root),
        tags=read_tags(root.get("tags")),
        security_schemes=tuple(
            _security_scheme(name, mapping(scheme)) for name, scheme in mapping(root.get("securityDefinitions")).items()
        ),
    )
    if not operations:
        warnings.append("The description has no operations.")
    warnings += equivalent_path_warnings(operations)
    warnings += unknown_scheme_warnings(operations, mapping(root.get("securityDefinitions")))
    schemas = read_schemas(root.get("definitions"), "#/definitions")
    return ApiDescription(overview, operations, schemas, warnings=tuple(warnings))


def _dialect(media: dict[str, list[Json]]) -> Dialect:
    """Return the functions for reading Swagger, with the default media types of the document."""

    def bodies(
        _reader: PathReader, raw: dict[str, Json], given: list[dict[str, Json]]
    ) -> tuple[tuple[Content, ...], bool]:
        """Return the request body of an operation, and whether the body is required."""
        consumes = [text_of(name) for name in sequence(raw.get("consumes")) or media["consumes"]]
        fields = [parameter for parameter in given if parameter.get("in") == "formData"]
        if fields:
            return (_form_schema(fields, consumes),), any(is_flag_set(field.get("required")) for field in fields)
        for parameter in given:
            if parameter.get("in") == "body":
                taken = next((name for name in consumes if "json" in name), (consumes or ["application/json"])[0])
                content = Content(taken, parameter.get("schema"))
                return (content,), is_flag_set(parameter.get("required"))
        return (), False

    def response(_reader: PathReader, status: str, response: dict[str, Json], raw: dict[str, Json]) -> Response:
        """Return a response with its first media type."""
        produces = [text_of(name) for name in sequence(raw.get("produces")) or media["produces"]]
        content = Content((produces or ["application/json"])[0], response.get("schema"))
        return Response(status, text_of(response.get("description")), (content,) if "schema" in response else ())

    return Dialect(bodies, response, _parameter_schema, frozenset(("body", "formData")), responses_vary=True)


def _form_schema(fields: list[dict[str, Json]], consumes: list[str]) -> Content:
    """Return form fields combined into one object schema."""
    schema = {
        "type": "object",
        "properties": {
            text_of(field.get("name")): {
                **_parameter_schema(field),
                "description": text_of(field.get("description")),
            }
            for field in fields
        },
        "required": [text_of(field.get("name")) for field in fields if is_flag_set(field.get("required"))],
    }
    has_file = any(field.get("type") == "file" for field in fields)
    media_type = next(
        (name for name in consumes if "form" in name), _MULTIPART_MEDIA_TYPE if has_file else _FORM_MEDIA_TYPE
    )
    return Content(media_type, schema)


def _parameter_schema(raw: dict[str, Json]) -> dict[str, Json]:
    """Return the schema of a parameter; only body parameters have a separate schema."""
    if isinstance(schema := raw.get("schema"), dict):
        return schema
    return {key: value for key, value in raw.items() if key not in _NON_SCHEMA_KEYS}


def _servers(root: dict[str, Json]) -> tuple[str, ...]:
    """Return the server URL, or only the base path if the description has no host."""
    host, base = text_of(root.get("host")), text_of(root.get("basePath"))
    if not host:
        return (base,) if base else ()
    schemes = [text_of(scheme) for scheme in sequence(root.get("schemes"))] or ["https"]
    scheme = "https" if "https" in schemes else schemes[0]
    return (f"{scheme}://{host}{base.rstrip('/')}",)


def _security_scheme(name: str, raw: dict[str, Json]) -> SecurityScheme:
    """Return a security scheme, with `basic` converted to an HTTP scheme."""
    kind = text_of(raw.get("type"))
    return SecurityScheme(
        name=name,
        kind="http" if kind == "basic" else kind,
        scheme="basic" if kind == "basic" else "",
        location=text_of(raw.get("in")),
        parameter=text_of(raw.get("name")),
        description=text_of(raw.get("description")),
    )
