"""Generate example calls: command lines that work once the user has set the `$VARIABLES` in them."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING
from urllib.parse import quote

from deltos.domains.apis.graphql_call import graphql_document
from deltos.domains.apis.sample import Sampler, documented_values, kind_of_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.domains.apis.model import ApiParameter, Content, Json, Operation, Overview, SecurityScheme
    from deltos.domains.apis.outline import Resolve

MAX_GENERATED_CHARACTERS = 6_000  # a longer request body is replaced by a file name
MAX_FORM_LEVELS = 6  # form values nested more deeply are sent as JSON
_PLACEHOLDER = re.compile(r"\{\{.*|\{[\w .-]*\}|<[\w .-]*>")  # example: `{{PAGE_ID}}`, `{id}` or `<id>`
_PATH_PARAMETER = re.compile(r"\{([^{}]+)\}|(?<=/):([A-Za-z_]\w*)")
_NON_WORD_CHARACTERS = re.compile(r"[^A-Za-z0-9]+")
_SEPARATELY_SET_HEADERS = frozenset(("content-type", "content-length", "authorization"))
_METHODS_WITHOUT_BODY = frozenset(("GET", "HEAD", "DELETE", "OPTIONS"))
# Substrings of media types, most preferred first.
_MEDIA_TYPE_PREFERENCES = (
    "/json;", "merge-patch+json", "json", "*/*", "application/*", "urlencoded", "multipart", "",
)  # fmt: skip
_CONCRETE_MEDIA = {"*/*": "application/json", "application/*": "application/json", "text/*": "text/plain"}


def example_call(operation: Operation, overview: Overview, resolve: Resolve) -> str:
    """Return a curl or grpcurl command for an operation; empty for webhooks and AsyncAPI operations."""
    if operation.webhook or overview.kind.startswith("AsyncAPI"):
        return ""
    sampler = Sampler(resolve)
    if overview.kind.startswith("Protocol"):
        message = _compact_json(sampler.value(operation.bodies[0].schema) if operation.bodies else {})
        host = operation.server or "$API_HOST"
        host = host if ":" in host else f"{host}:443"
        return f"grpcurl -d {shlex.quote(message)} {host} {shlex.quote(operation.path)}"
    if overview.kind == "GraphQL":
        query = json.dumps({"query": graphql_document(operation, sampler)})
        server, content_type = _server_url(operation, overview), "-H 'Content-Type: application/json'"
        return f'curl "{server}" {content_type} -d {shlex.quote(query)}'
    method = "" if operation.method == "GET" else f"-X {shlex.quote(operation.method)} "
    body = _body_arguments(operation, sampler)
    parts = [f"curl {method}{_quoted_url(operation, overview, sampler)}"]
    parts += _auth_headers(operation, overview)
    parts += [
        _header_or_cookie_flag(parameter, sampler)
        for parameter in operation.parameters
        if parameter.required and parameter.location in ("header", "cookie")
        if not (parameter.location == "header" and parameter.name.lower() in _SEPARATELY_SET_HEADERS)
    ]
    parts += body
    return " \\\n  ".join(parts)


def _header_or_cookie_flag(parameter: ApiParameter, sampler: Sampler) -> str:
    """Return the curl option that sends a header or cookie parameter."""
    value = (
        _escape_double_quoted(value_text)
        if (value_text := _documented_value(parameter, sampler))
        else _shell_variable(parameter.name)
    )
    name = _escape_double_quoted(parameter.name)
    return f'-b "{name}={value}"' if parameter.location == "cookie" else f'-H "{name}: {value}"'


def _quoted_url(operation: Operation, overview: Overview, sampler: Sampler) -> str:
    """Return the quoted URL of an operation with path parameters and required query parameters filled in."""
    known = {parameter.name: parameter for parameter in operation.parameters if parameter.location == "path"}

    def fill(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return _value_or_variable(known.get(name), name, sampler)

    # Drop `#…`, which some descriptions append to distinguish operations with the same path.
    path = _PATH_PARAMETER.sub(fill, _escape_double_quoted(operation.path.partition("#")[0], keep="{}"))
    query = [
        f"{quote(parameter.name)}={_value_or_variable(parameter, parameter.name, sampler)}"
        for parameter in operation.parameters
        if parameter.location == "query" and parameter.required
    ]
    query += _query_api_keys(operation, overview)
    server = _server_url(operation, overview)
    joint = "&" if "?" in path else "?"
    path = path if path.startswith(("/", "?")) or not path else f"/{path}"
    return f'"{server.rstrip("/")}{path}{joint + "&".join(query) if query else ""}"'


def _value_or_variable(parameter: ApiParameter | None, name: str, sampler: Sampler) -> str:
    """Return the URL-encoded example value of a parameter, or a shell variable if none is documented."""
    value_text = _documented_value(parameter, sampler) if parameter else ""
    return quote(value_text, safe="") if value_text else _shell_variable(name)


def _shell_variable(name: str) -> str:
    """Return the shell variable for a parameter; the prefix avoids names that shells or systems reserve."""
    return f"${{MY_{_NON_WORD_CHARACTERS.sub('_', name).strip('_').upper()}}}"


def _documented_value(parameter: ApiParameter, sampler: Sampler) -> str:
    """Return a parameter's example, default or first enum value; empty if there is none or it is a placeholder."""
    schema = sampler.merge_parts(parameter.schema)
    values: Iterable[Json] = sampler.fitting_values(documented_values(schema), schema)
    if kind_of_value(schema) == "array":
        items = sampler.merge_parts(schema.get("items"))
        values = [each[0] for each in values if isinstance(each, list) and each]
        values += sampler.fitting_values(documented_values(items), items)
    texts = (_form_text(each) for each in values if not isinstance(each, (dict, list)))
    return next((text for text in texts if text and not _PLACEHOLDER.fullmatch(text)), "")


def _server_url(operation: Operation, overview: Overview) -> str:
    """Return the server URL, or a shell variable if the description has no absolute URL."""
    server = operation.server or (overview.servers[0] if overview.servers else "")
    if server.lower().startswith(("http:", "https:")):
        return _escape_double_quoted(server)
    if server.startswith("{{"):  # a variable of a Postman collection
        name, _, rest = server[2:].partition("}}")
        return _shell_variable(name) + _escape_double_quoted(rest)
    return f"$BASE_URL{_escape_double_quoted(server)}".rstrip("/")


def _auth_headers(operation: Operation, overview: Overview) -> list[str]:
    """Return the curl arguments for the first of the alternative ways of authentication."""
    schemes = {scheme.name: scheme for scheme in overview.security_schemes}
    needed = next((need for need in operation.security if need), ())
    return [header for name in needed if name in schemes and (header := _auth_header(schemes[name]))]


def _auth_header(scheme: SecurityScheme) -> str:
    """Return the curl argument for an authentication scheme; empty for keys in the query and unknown schemes."""
    if scheme.kind == "http" and scheme.scheme.lower() == "basic":
        return '-u "$API_USER:$API_PASSWORD"'
    if scheme.kind in ("http", "oauth2", "openIdConnect"):
        return '-H "Authorization: Bearer $TOKEN"'
    if scheme.kind == "apiKey" and scheme.location == "header":
        return f'-H "{_escape_double_quoted(scheme.parameter)}: $API_KEY"'
    if scheme.kind == "apiKey" and scheme.location == "cookie":
        return f'-b "{_escape_double_quoted(scheme.parameter)}=$API_KEY"'
    return ""


def _query_api_keys(operation: Operation, overview: Overview) -> list[str]:
    """Return the query parameters that send API keys."""
    needed = next((need for need in operation.security if need), ())
    return [
        f"{quote(scheme.parameter)}=$API_KEY"
        for scheme in overview.security_schemes
        if scheme.name in needed and scheme.kind == "apiKey" and scheme.location == "query"
    ]


def _body_arguments(operation: Operation, sampler: Sampler) -> list[str]:
    """Return the curl arguments that send a sample request body."""
    if not operation.bodies or (operation.method in _METHODS_WITHOUT_BODY and not operation.body_required):
        return []
    content = _preferred_content(operation.bodies)
    media_type = concrete_media_type(content.media_type, operation.method)
    value = next(sampler.fitting_values(content.examples, content.schema), None) or sampler.value(content.schema)
    if "form" in media_type:
        is_multipart = "multipart" in media_type
        pairs = list(_form_pairs(value, sampler.merge_parts(content.schema), content.deep, sampler)) if value else []
        return [_form_flag(name, part, is_multipart=is_multipart) for name, part in pairs]
    header = f"-H {shlex.quote(f'Content-Type: {media_type}')}"
    if _is_binary(content, media_type, sampler):
        return [header, "--data-binary @file"]
    if "xml" in media_type and not isinstance(value, str):
        return [header, "-d @body.xml"]
    body = _encode_body(value, media_type)
    if len(body) > MAX_GENERATED_CHARACTERS:
        return [header, "-d @body.json"]
    return [header, f"{'--data-raw' if body.startswith('@') else '-d'} {shlex.quote(body)}"]


def _encode_body(value: Json, media_type: str) -> str:
    """Return a body value encoded for its media type."""
    if "json" in media_type or "yaml" in media_type:
        return _compact_json(value)
    return value if isinstance(value, str) else _compact_json(value)


def _is_binary(content: Content, media_type: str, sampler: Sampler) -> bool:
    """Whether a request body is binary and must therefore be sent from a file."""
    if "json" in media_type or media_type.startswith("text/"):
        return False
    schema = sampler.merge_parts(content.schema)
    is_plain = kind_of_value(schema) in ("", "string", "file")
    return schema.get("format") == "binary" or (is_plain and "xml" not in media_type and "yaml" not in media_type)


def _preferred_content(bodies: tuple[Content, ...]) -> Content:
    """Return the request body in the preferred media type: JSON if available, else a form."""

    def rank(content: Content) -> int:
        media_type = f"{content.media_type.lower()};"
        return next(index for index, part in enumerate(_MEDIA_TYPE_PREFERENCES) if part in media_type)

    return min(bodies, key=rank)


def concrete_media_type(media_type: str, method: str) -> str:
    """Return a media type without wildcards such as `*/*`, which a request cannot use."""
    if "*" in media_type and method == "PATCH":
        return "application/merge-patch+json"
    if "*" in media_type:
        return _CONCRETE_MEDIA.get(media_type, media_type.replace("*", "octet-stream"))
    return media_type


def _form_pairs(
    value: Json, schema: dict[str, Json], deep: tuple[str, ...], sampler: Sampler
) -> Iterator[tuple[str, Json]]:
    """Yield the name and value of each form field; lists and nested objects become several fields."""
    members = schema.get("properties")
    for name, part in value.items() if isinstance(value, dict) else ():
        member = sampler.merge_parts(members.get(name) if isinstance(members, dict) else None)
        if _is_file(member) or _is_file(sampler.merge_parts(member.get("items"))):
            yield name, _FILE
        elif isinstance(part, list) and member.get("collectionFormat", "multi") != "multi":
            yield name, ",".join(map(_form_text, part))
        else:
            yield from _flatten_form_field(name, part, is_deep=name in deep)


def _flatten_form_field(name: str, value: Json, *, is_deep: bool, level: int = 0) -> Iterator[tuple[str, Json]]:
    """Yield a form field for each nested value, with the keys of the value in brackets."""
    if isinstance(value, dict) and level < MAX_FORM_LEVELS:
        for key, part in value.items():
            yield from _flatten_form_field(f"{name}[{key}]", part, is_deep=is_deep, level=level + 1)
    elif isinstance(value, list) and level < MAX_FORM_LEVELS:
        for position, part in enumerate(value):
            inner = f"{name}[{position}]" if is_deep or isinstance(part, (dict, list)) else name
            yield from _flatten_form_field(inner, part, is_deep=is_deep, level=level + 1)
    else:
        yield name, value


class _FilePlaceholder:
    """Marks a form field that uploads a file."""


_FILE = _FilePlaceholder()


def _is_file(schema: dict[str, Json]) -> bool:
    return schema.get("type") == "file" or schema.get("format") == "binary"


def _form_flag(name: str, value: Json, *, is_multipart: bool) -> str:
    """Return the curl option that sends a form field."""
    if isinstance(value, _FilePlaceholder):
        return f"-F {shlex.quote(f'{name}=@file')}"
    text = _form_text(value)
    if not is_multipart:
        return f"--data-urlencode {shlex.quote(f'{name}={text}')}"
    # With the option -F, curl reads a file if the value starts with `@` or `<`.
    flag = "--form-string" if text.startswith(("@", "<")) or ";" in text else "-F"
    return f"{flag} {shlex.quote(f'{name}={text}')}"


def _form_text(value: Json) -> str:
    """Return a form value as text; values other than text are encoded as JSON."""
    return value if isinstance(value, str) else _compact_json(value)


def _escape_double_quoted(text: str, keep: str = "") -> str:
    """Return a text as one line, escaped for use inside double quotes in a shell, except characters in `keep`."""
    safe = re.sub(r'(["$`\\!])', r"\\\1", text)
    return "".join(character for character in safe if character.isprintable() or character in keep)


def _compact_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
