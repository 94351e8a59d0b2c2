"""Pages that only show an API description (Swagger UI, ReDoc, Scalar): where the description itself lies."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

MAX_CANDIDATES = 5
_MARKS = (b"SwaggerUIBundle", b"swagger-ui", b"<redoc", b"Redoc.init", b"api-reference", b"scalar")
_SET = re.compile(rb"""(?:spec-url|data-url|specUrl|configUrl|url)["']? ?[:=] ?["']([^"'\s<>]{1,500})["']""")
_INITIAL = re.compile(rb"""Redoc\.init\(["']([^"'\s<>]{1,500})["']""")
_SCRIPT = b"swagger-initializer.js"
_NAMED_SO = re.compile(r"\.(?:json|ya?ml)$|/(?:openapi|swagger|api-docs|schema)$")


def description_addresses(page: bytes, url: str) -> list[str]:
    """Addresses on the same host that a page gets its description from, or a script that says so; likeliest first."""
    if not any(mark in page for mark in _MARKS):
        return []
    found = [*_INITIAL.findall(page), *_SET.findall(page)]
    addresses = [urljoin(url, target.decode("utf-8", "replace")) for target in found]
    named = [address for address in addresses if _NAMED_SO.search(urlsplit(address).path)]
    if not named and _SCRIPT in page:
        named = [urljoin(url, _SCRIPT.decode())]
    same_host = [address for address in named if urlsplit(address)[:2] == urlsplit(url)[:2]]
    return list(dict.fromkeys(same_host))[:MAX_CANDIDATES]
