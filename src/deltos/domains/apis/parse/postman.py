"""Parser for Postman collections in formats 2.x and 1.0; schemas of bodies are derived from examples."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from deltos.domains.apis.model import (
    ApiDescription,
    ApiParameter,
    Content,
    Operation,
    Overview,
    Response,
    SecurityScheme,
)
from deltos.domains.apis.refs import escape_token
from deltos.domains.apis.spec_text import is_flag_set, mapping, sequence, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.apis.model import Json

MAX_FOLDER_DEPTH = 50
_ORIGIN = re.compile(r"^(?:\{\{[^}]*\}\}|[a-z][a-z0-9+.-]*://[^/?#]*)", re.IGNORECASE)
_MEDIA_TYPES = {"urlencoded": "application/x-www-form-urlencoded", "formdata": "multipart/form-data"}
_SECURITY_SCHEMES = {
    "bearer": ("http", "bearer"),
    "basic": ("http", "basic"),
    "apikey": ("apiKey", ""),
    "oauth2": ("oauth2", ""),
}


def parse_postman(root: dict[str, Json]) -> ApiDescription:
    """Parse a Postman collection."""
    info = mapping(root.get("info"))
    operations = tuple(_requests(root) if "item" in root else _requests_of_version_1(root))
    servers = tuple(dict.fromkeys(operation.server for operation in operations if operation.server))
    auth = mapping(root.get("auth"))
    overview = Overview(
        title=text_of(info.get("name")) or text_of(root.get("name")),
        version=_version(info.get("version")),
        kind="Postman collection",
        description=_description(info.get("description") or root.get("description")),
        servers=servers,
        security_schemes=tuple(_security_scheme(kind) for kind in [text_of(auth.get("type"))] if kind),
    )
    warnings = () if operations else ("The collection has no requests.",)
    return ApiDescription(overview, operations, (), warnings=warnings)


_PendingItem = tuple[Any, str, int, tuple[str, ...]]
"""An item, the pointer of its list, its index in the list, and the names of its folders."""


def _requests(root: dict[str, Json]) -> Iterator[Operation]:
    """Yield all requests in collection order."""
    auth = text_of(mapping(root.get("auth")).get("type"))
    pending = _reversed_items(root.get("item"), "#/item", ())
    while pending:
        given, parent, index, folders = pending.pop()
        item, pointer = mapping(given), f"{parent}/{index}"
        if isinstance(item.get("item"), list) and len(folders) < MAX_FOLDER_DEPTH:
            inside = (*folders, text_of(item.get("name")))
            pending += _reversed_items(item["item"], f"{pointer}/item", inside)
        elif "request" in item:
            yield _operation(item, pointer, folders, auth)


def _reversed_items(given: Json, parent: str, folders: tuple[str, ...]) -> list[_PendingItem]:
    """Return the items of a folder in reverse order, because the caller removes items from the end."""
    return [(item, parent, index, folders) for index, item in enumerate(sequence(given))][::-1]


def _requests_of_version_1(root: dict[str, Json]) -> Iterator[Operation]:
    """Yield the requests of a collection in format 1.0."""
    names = {each.get("id"): text_of(each.get("name")) for each in map(mapping, sequence(root.get("folders")))}
    for index, request in enumerate(map(mapping, sequence(root.get("requests")))):
        body = {"mode": request.get("dataMode"), "raw": request.get("rawModeData")}
        item = {"name": request.get("name"), "request": {**request, "body": body}}
        folder = names.get(request.get("folder"), "")
        yield _operation(item, f"#/requests/{index}", (folder,) if folder else (), "")


def _operation(item: dict[str, Json], pointer: str, folders: tuple[str, ...], auth: str) -> Operation:
    """Return a request of a collection as an operation."""
    request = item["request"] if isinstance(item["request"], dict) else {"url": item["request"], "method": "GET"}
    url = request.get("url") if isinstance(request.get("url"), dict) else {"raw": text_of(request.get("url"))}
    server, path = _split_url(mapping(url))
    own_auth = text_of(mapping(request.get("auth")).get("type")) or auth
    name = text_of(item.get("name"))
    return Operation(
        method=text_of(request.get("method")).upper() or "GET",
        path=path,
        pointer=escape_token(pointer) if "~" in pointer else pointer,
        name=name or path,
        summary=name or path,
        description=_description(request.get("description") or item.get("description")),
        tags=(" / ".join(folders),) if folders else (),
        parameters=tuple(_parameters(mapping(url), request)),
        bodies=_bodies(mapping(request.get("body"))),
        responses=tuple(_response(mapping(each)) for each in sequence(item.get("response"))),
        security=((own_auth,),) if own_auth and own_auth != "noauth" else (),
        server=server,
    )


def _split_url(url: dict[str, Json]) -> tuple[str, str]:
    """Return the server and the path of a request URL."""
    raw = text_of(url.get("raw"))
    origin = _ORIGIN.match(raw)
    server = origin[0] if origin else ""
    if isinstance(url.get("path"), list):
        return server, "/" + "/".join(text_of(mapping(part).get("value")) or text_of(part) for part in url["path"])
    path = raw[len(server) :].split("?")[0].split("#")[0]
    return server, path if path.startswith("/") else f"/{path}"


def _parameters(url: dict[str, Json], request: dict[str, Json]) -> Iterator[ApiParameter]:
    """Yield the path, query and header parameters of a request."""
    lists = (("path", url.get("variable")), ("query", url.get("query")), ("header", request.get("header")))
    for location, given in lists:
        for raw in map(mapping, sequence(given)):
            if not is_flag_set(raw.get("disabled")) or location == "query":
                schema = {"type": "string", "example": text_of(raw.get("value"))}
                name = text_of(raw.get("key"))
                yield ApiParameter(name, location, location == "path", schema, _description(raw.get("description")))


def _bodies(body: dict[str, Json]) -> tuple[Content, ...]:
    """Return the request body; empty if there is none."""
    mode = text_of(body.get("mode"))
    if mode in _MEDIA_TYPES:
        fields = [mapping(each) for each in sequence(body.get(mode))]
        properties = {
            text_of(field.get("key")): {
                "type": text_of(field.get("type")) or "string",
                "description": _description(field.get("description")),
                "example": text_of(field.get("value")),
            }
            for field in fields
        }
        return (Content(_MEDIA_TYPES[mode], {"type": "object", "properties": properties}),)
    if mode == "graphql":
        return (
            Content("application/json", {"type": "object", "description": "A GraphQL query"}, (body.get("graphql"),)),
        )
    raw = text_of(body.get("raw"))
    return (_body_from_example(raw),) if raw else ()


def _body_from_example(text: str) -> Content:
    """Return a body with a schema derived from an example."""
    try:
        example = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return Content("text/plain", {"type": "string", "example": text[:200]})
    return Content("application/json", schema_from_example(example), (example,) if len(text) < 2_000 else ())


def schema_from_example(example: Json, depth: int = 4) -> Json:
    """Return a schema derived from an example value."""
    match example:
        case dict() if depth:
            return {
                "type": "object",
                "properties": {key: schema_from_example(value, depth - 1) for key, value in example.items()},
            }
        case list():
            return {"type": "array", "items": schema_from_example(example[0], depth - 1) if example and depth else {}}
        case bool():
            return {"type": "boolean"}
        case int() | float():
            return {"type": "number"}
        case str():
            return {"type": "string"}
    return {}


def _response(raw: dict[str, Json]) -> Response:
    """Return a saved response with a schema derived from its body."""
    body = text_of(raw.get("body"))
    content = _body_from_example(body) if body else None
    shown = (Content(content.media_type, content.schema),) if content else ()
    return Response(text_of(raw.get("code")) or "default", text_of(raw.get("name")), shown)


def _description(value: Json) -> str:
    """Return a description, which may be text or a mapping with the text."""
    return text_of(mapping(value).get("content")) or text_of(value)


def _version(value: Json) -> str:
    """Return the version of a collection, which may be text or a mapping of version numbers."""
    if isinstance(value, dict):
        return ".".join(text_of(value.get(part)) for part in ("major", "minor", "patch") if part in value)
    return text_of(value)


def _security_scheme(kind: str) -> SecurityScheme:
    """Return the authentication scheme of a collection by kind."""
    known, scheme = _SECURITY_SCHEMES.get(kind, (kind, ""))
    return SecurityScheme(kind, known, scheme)
