"""Example calls: sample values of schemas, and a command line that works once its `$VARIABLES` are set."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING
from urllib.parse import quote

from deltos.domains.apis.outline import follow, label, members_of
from deltos.domains.apis.prose import is_true, text_of

if TYPE_CHECKING:
    from deltos.domains.apis.model import ApiParameter, Content, Json, Operation, Overview, SecurityScheme
    from deltos.domains.apis.outline import Resolve

MAX_BODY_CHARACTERS = 700
MAX_SAMPLE_DEPTH = 3
MAX_OPTIONAL_FIELDS = 3
_SAMPLES: dict[str, Json] = {"integer": 1, "number": 1.5, "boolean": True, "string": "string", "ID": "ID"}
_FORMATS = {
    "date-time": "2024-01-01T00:00:00Z",
    "date": "2024-01-01",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "email": "user@example.com",
    "uri": "https://example.com",
    "unix-time": 1704067200,
}
_PATH_PARAMETER = re.compile(r"\{([^{}]+)\}|(?<=/):([A-Za-z_]\w*)")


def example_call(operation: Operation, overview: Overview, resolve: Resolve) -> str:
    """A command line for one call; empty where no command-line tool would help."""
    if operation.webhook or overview.kind.startswith("AsyncAPI"):
        return ""
    if overview.kind.startswith("Protocol"):
        body = _compact(_body_sample(operation.bodies, resolve))
        return f"grpcurl -d {shlex.quote(body)} $HOST:443 {shlex.quote(operation.path)}"
    if overview.kind == "GraphQL":
        query = json.dumps({"query": _graphql_query(operation, resolve)})
        server, content_type = _server(operation, overview), "-H 'Content-Type: application/json'"
        return f'curl "{server}" {content_type} -d {shlex.quote(query)}'
    method = "" if operation.method == "GET" else f"-X {shlex.quote(operation.method)} "
    parts = [f"curl {method}{_url(operation, overview)}"]
    parts += _auth_headers(operation, overview)
    parts += [
        f'-H "{_double(parameter.name)}: {_variable(parameter.name)}"'
        for parameter in operation.parameters
        if parameter.location == "header" and parameter.required
    ]
    parts += _body(operation, resolve)
    return " \\\n  ".join(parts)


def sample(schema: Json, resolve: Resolve, depth: int = 0, seen: tuple[str, ...] = ()) -> Json:
    """A plausible value of a schema: what the author gives as example or default, else one by type."""
    target = schema.get("$ref") if isinstance(schema, dict) else None
    if isinstance(target, str):
        if target in seen:
            return {}
        seen = (*seen, target)
    schema = follow(schema, resolve)
    if not isinstance(schema, dict):
        return None
    for name in ("example", "default", "const"):
        if schema.get(name) not in (None, ""):
            return typed(schema[name], schema)
    for name in ("examples", "enum"):
        if isinstance(given := schema.get(name), list) and given:
            return typed(given[0], schema)
    for name in ("oneOf", "anyOf"):
        if isinstance(options := schema.get(name), list) and options:
            return sample(options[0], resolve, depth + 1, seen) if depth < MAX_SAMPLE_DEPTH else None
    return _sample_by_type(schema, resolve, depth, seen)


def _sample_by_type(schema: dict[str, Json], resolve: Resolve, depth: int, seen: tuple[str, ...]) -> Json:
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "array":
        return [sample(schema.get("items"), resolve, depth + 1, seen)] if depth < MAX_SAMPLE_DEPTH else []
    if kind == "object" or "properties" in schema or "allOf" in schema:
        return _sample_object(schema, resolve, depth, seen)
    return _FORMATS.get(text_of(schema.get("format"))) or _SAMPLES.get(text_of(kind), "string")


def _sample_object(schema: dict[str, Json], resolve: Resolve, depth: int, seen: tuple[str, ...]) -> Json:
    if depth >= MAX_SAMPLE_DEPTH:
        return {}
    members = members_of(schema, resolve)
    chosen = [member for member in members if member.required]
    if not chosen and depth == 0:
        chosen = members[:MAX_OPTIONAL_FIELDS]
    return {member.name: sample(member.schema, resolve, depth + 1, seen) for member in chosen}


def typed(value: Json, schema: dict[str, Json]) -> Json:
    """A value that YAML read as text, in the type its schema gives it."""
    kind = schema.get("type")
    if not isinstance(value, str) or kind in (None, "string"):
        return value
    if kind == "boolean":
        return is_true(value)
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _url(operation: Operation, overview: Overview) -> str:
    known = {parameter.name: parameter for parameter in operation.parameters}

    def fill(match: re.Match[str]) -> str:
        return _given_or_variable(known.get(match[1] or match[2]), match[1] or match[2])

    path = _PATH_PARAMETER.sub(fill, _double(operation.path, keep="{}"))
    query = [
        f"{quote(parameter.name)}={_given_or_variable(parameter, parameter.name)}"
        for parameter in operation.parameters
        if parameter.location == "query" and parameter.required
    ]
    query += _key_in_query(operation, overview)
    server = _server(operation, overview)
    return f'"{server.rstrip("/")}{path}{"?" + "&".join(query) if query else ""}"'


def _server(operation: Operation, overview: Overview) -> str:
    """The address that the call goes to: absolute, or a variable to set."""
    server = operation.server or (overview.servers[0] if overview.servers else "")
    if server.lower().startswith(("http:", "https:")):
        return _double(server)
    if variable := re.match(r"\{\{([^}]+)\}\}", server):
        return _variable(variable[1]) + _double(server[variable.end() :])
    return f"$BASE_URL{_double(server)}".rstrip("/")


def _given_or_variable(parameter: ApiParameter | None, name: str) -> str:
    schema = parameter.schema if parameter and isinstance(parameter.schema, dict) else {}
    for key in ("example", "default"):
        given = schema.get(key)
        if isinstance(given, (str, int, float)) and not isinstance(given, bool) and str(given):
            return quote(str(given), safe="")
    return _variable(name)


def _auth_headers(operation: Operation, overview: Overview) -> list[str]:
    schemes = {scheme.name: scheme for scheme in overview.security_schemes}
    needed = next((need for need in operation.security if need), ())
    return [header for name in needed if name in schemes and (header := _auth_header(schemes[name]))]


def _auth_header(scheme: SecurityScheme) -> str:
    if scheme.kind == "http" and scheme.scheme.lower() == "basic":
        return '-u "$USERNAME:$PASSWORD"'
    if scheme.kind in ("http", "oauth2", "openIdConnect"):
        return '-H "Authorization: Bearer $TOKEN"'
    if scheme.kind == "apiKey" and scheme.location == "header":
        return f'-H "{_double(scheme.parameter)}: $API_KEY"'
    if scheme.kind == "apiKey" and scheme.location == "cookie":
        return f'-b "{_double(scheme.parameter)}=$API_KEY"'
    return ""


def _key_in_query(operation: Operation, overview: Overview) -> list[str]:
    needed = next((need for need in operation.security if need), ())
    return [
        f"{quote(scheme.parameter)}=$API_KEY"
        for scheme in overview.security_schemes
        if scheme.name in needed and scheme.kind == "apiKey" and scheme.location == "query"
    ]


def _body(operation: Operation, resolve: Resolve) -> list[str]:
    if not operation.bodies:
        return []
    content = _preferred(operation.bodies)
    value = content.example if content.example is not None else sample(content.schema, resolve)
    if "form" in content.media_type and isinstance(value, dict):
        flag = "-F" if "multipart" in content.media_type else "--data-urlencode"
        return [f"{flag} {shlex.quote(f'{name}={_form_value(given)}')}" for name, given in list(value.items())[:6]]
    body = value if isinstance(value, str) and "json" not in content.media_type else _compact(value)
    if len(body) > MAX_BODY_CHARACTERS:
        body = _compact(sample(content.schema, resolve))
    if len(body) > MAX_BODY_CHARACTERS:
        return [f"-H {shlex.quote(f'Content-Type: {content.media_type}')}", "-d @body.json"]
    return [f"-H {shlex.quote(f'Content-Type: {content.media_type}')}", f"-d {shlex.quote(body)}"]


def _body_sample(bodies: tuple[Content, ...], resolve: Resolve) -> Json:
    return sample(_preferred(bodies).schema, resolve) if bodies else {}


def _preferred(bodies: tuple[Content, ...]) -> Content:
    """JSON where it is offered."""
    return next((content for content in bodies if "json" in content.media_type), bodies[0])


def _form_value(value: Json) -> str:
    return value if isinstance(value, str) else _compact(value)


def _graphql_query(operation: Operation, resolve: Resolve) -> str:
    given = ", ".join(
        f"{parameter.name}: {_literal(parameter, resolve)}" for parameter in operation.parameters if parameter.required
    )
    fields = _selection(operation.responses[0].contents[0].schema, resolve) if operation.responses else ""
    return f"{operation.method.lower()} {{ {operation.path}{f'({given})' if given else ''}{fields} }}"


def _selection(schema: Json, resolve: Resolve) -> str:
    """The plain fields of a GraphQL result, or its type's name where there are none."""
    members = members_of(schema, resolve)
    if not members:
        return "" if label(schema, resolve) in _SAMPLES else " { __typename }"
    plain = [member.name for member in members if "$ref" not in member.schema and "x-arguments" not in member.schema]
    return f" {{ {' '.join(plain[:5]) or '__typename'} }}"


def _literal(parameter: ApiParameter, resolve: Resolve) -> str:
    value = json.dumps(sample(parameter.schema, resolve))
    return re.sub(r'"(\w+)":', r"\1:", value)


def _variable(name: str) -> str:
    """The shell variable that stands for a value the caller must know."""
    return "$" + (re.sub(r"\W+", "_", name).strip("_").upper() or "VALUE")


def _double(text: str, keep: str = "") -> str:
    """Text made safe inside double quotes of a shell, on one line."""
    safe = re.sub(r'(["$`\\!])', r"\\\1", text)
    return "".join(character for character in safe if character.isprintable() or character in keep)


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
