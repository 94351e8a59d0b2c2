"""Requests to endpoints that the user configured, such as a model server or a token issuer.

Private addresses are allowed, but metadata addresses are refused. Redirects are not followed. The proxy settings of the
system apply.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deltos.errors import FetchFailed
from deltos.fetch.address import refuse_metadata_address, refuse_metadata_name, require_web_address, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

_RETRYABLE_STATUSES = frozenset((408, 425, 429, 500, 502, 503, 504))
MAX_RESPONSE_BYTES = 50_000_000


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, because the user did not configure their targets."""

    def redirect_request(self, *_: object) -> None:
        return None


def ask(url: str, body: bytes | None, headers: Mapping[str, str], timeout_seconds: float) -> bytes:
    """Send a request to a URL (POST if there is a `body`, otherwise GET) and return the response body."""
    require_web_address(url)
    _refuse_metadata(url)
    request = urllib.request.Request(url, body, dict(headers))  # noqa: S310 - http or https, as just required
    try:
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=timeout_seconds) as answer:
            data: bytes = answer.read(MAX_RESPONSE_BYTES + 1)
    except urllib.error.HTTPError as exc:
        exc.close()
        raise FetchFailed(f"HTTP {exc.code}", status=exc.code, retryable=exc.code in _RETRYABLE_STATUSES) from exc
    except (OSError, ValueError) as exc:
        raise FetchFailed(str(exc), retryable=True) from exc
    if len(data) > MAX_RESPONSE_BYTES:
        raise FetchFailed(f"The response is larger than {MAX_RESPONSE_BYTES // 1_000_000} MB")
    return data


def _refuse_metadata(url: str) -> None:
    host = urlsplit(url).hostname or ""
    refuse_metadata_name(host)
    with suppress(FetchFailed):  # behind a proxy, this machine may not be able to resolve names
        for address in resolve(host, 0):
            refuse_metadata_address(host, address)
