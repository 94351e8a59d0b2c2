"""Pages that only show an API description (Swagger UI, ReDoc, Scalar, GraphiQL): where the description itself lies."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

MAX_CANDIDATES = 5
_MARKS = (b"SwaggerUIBundle", b"swagger-ui", b"<redoc", b"Redoc.init", b"api-reference", b"scalar")
_SET = re.compile(rb"""(?:spec-url|data-url|specUrl|configUrl|url)["']? ?[:=] ?["']([^"'\s<>]{1,500})["']""")
_INITIAL = re.compile(rb"""Redoc\.init\(["']([^"'\s<>]{1,500})["']""")
_GRAPHQL_MARKS = (
    b"graphiql", b"graphqlplayground", b"graphql-playground", b"embeddedsandbox", b"graphql-voyager", b"altair",
)  # fmt: skip
_ENDPOINT = re.compile(
    rb"""(?:url|endpoint|endpointURL|initialEndpoint|fetch)["']? ?[:=(] ?["']([^"'\s<>]{1,500})["']"""
)
_QUOTED = re.compile(rb"""["']([^"'\s<>]{1,500})["']""")
_SCHEMA_FILES = (b".graphql", b".graphqls", b".gql", b"schema.json", b"introspection.json")
_SCRIPT = b"swagger-initializer.js"
_NAMED_SO = re.compile(r"\.(?:json|ya?ml)$|/(?:openapi|swagger|api-docs|schema)$")


def graphql_endpoint(page: bytes, url: str) -> str:
    """The endpoint on the same host that a page of GraphiQL or its like asks; empty for any other page."""
    if not any(mark in page.lower() for mark in _GRAPHQL_MARKS):
        return ""
    written: list[bytes] = _ENDPOINT.findall(page)
    targets = [_joined(url, target) for target in written]
    named = [target for target in targets if "graphql" in urlsplit(target).path.lower()]
    same_host = [target for target in named if urlsplit(target)[:2] == urlsplit(url)[:2]]
    return (same_host or [urljoin(url, "/graphql")])[0].partition("?")[0]


def schema_addresses(page: bytes, url: str) -> list[str]:
    """Files on the same host that such a page names and that may be the schema."""
    quoted: list[bytes] = _QUOTED.findall(page)
    targets = (_joined(url, target) for target in quoted if target.lower().endswith(_SCHEMA_FILES))
    same_host = (target for target in targets if urlsplit(target)[:2] == urlsplit(url)[:2])
    return list(dict.fromkeys(same_host))[:MAX_CANDIDATES]


def description_addresses(page: bytes, url: str) -> list[str]:
    """Addresses on the same host that a page gets its description from, or a script that says so; likeliest first."""
    if not any(mark in page for mark in _MARKS):
        return []
    found = [*_INITIAL.findall(page), *_SET.findall(page)]
    addresses = [_joined(url, target) for target in found]
    named = [address for address in addresses if _NAMED_SO.search(urlsplit(address).path)]
    if not named and _SCRIPT in page:
        named = [urljoin(url, _SCRIPT.decode())]
    same_host = [address for address in named if urlsplit(address)[:2] == urlsplit(url)[:2]]
    return list(dict.fromkeys(same_host))[:MAX_CANDIDATES]


def _joined(url: str, target: bytes) -> str:
    """The address that a page at `url` names; empty when it is malformed."""
    try:
        joined = urljoin(url, target.decode("utf-8", "replace"))
        urlsplit(joined)
    except ValueError:
        return ""
    return joined
