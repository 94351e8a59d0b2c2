"""Find the URL of the API description that a viewer page such as Swagger UI, ReDoc or Scalar shows."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from deltos.markup.links import join_url

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CANDIDATES = 5  # maximum number of returned URLs
MAX_MATCHES = 20_000  # maximum number of regular-expression matches examined per page
_VIEWER_MARKERS = (b"SwaggerUIBundle", b"swagger-ui", b"<redoc", b"Redoc.init", b"api-reference", b"scalar")
_URL_SETTING = re.compile(rb"""(?:spec-url|data-url|specUrl|configUrl|url)["']? ?[:=] ?["']([^"'\s<>]{1,500})["']""")
_INIT_CALL = re.compile(rb"""Redoc\.init\(["']([^"'\s<>]{1,500})["']""")
_INITIALIZER_SCRIPT = b"swagger-initializer.js"
_DESCRIPTION_PATH = re.compile(r"\.(?:json|ya?ml)$|/(?:openapi|swagger|api-docs|schema)$")


def description_url_candidates(page: bytes, url: str) -> list[str]:
    """Return the URLs from which a viewer page may load its API description, most probable first.

    If the page contains no URL of a description, the URL of the page's initialisation script is returned. URLs on other
    hosts are ignored.
    """
    if not any(mark in page for mark in _VIEWER_MARKERS):
        return []
    found = (target for pattern in (_INIT_CALL, _URL_SETTING) for target in _urls_on_host(pattern, page, url))
    named = dict.fromkeys(target for target in found if _DESCRIPTION_PATH.search(urlsplit(target).path))
    if not named and _INITIALIZER_SCRIPT in page:
        return [urljoin(url, _INITIALIZER_SCRIPT.decode())]
    return list(islice(named, MAX_CANDIDATES))


def _urls_on_host(pattern: re.Pattern[bytes], page: bytes, url: str) -> Iterator[str]:
    """Yield the URLs that the regular expression `pattern` finds in a page, if they have the same host as the page."""
    for found in islice(pattern.finditer(page), MAX_MATCHES):
        target = join_url(url, found[1].decode("utf-8", "replace"))
        if target and urlsplit(target)[:2] == urlsplit(url)[:2]:
            yield target
