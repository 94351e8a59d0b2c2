"""HTTP client that checks the address of every request and redirect, and limits size, time and number of redirects."""

from __future__ import annotations

import email.utils
import logging
import time
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import httpcore2

from deltos.errors import FetchFailed
from deltos.fetch.address import checked_addresses, require_web_address
from deltos.fetch.files import MAX_DESCRIPTION_BYTES
from deltos.fetch.user_agent import USER_AGENT
from deltos.logins import HOW_TO_LOG_IN
from deltos.private_hosts import NO_PRIVATE_HOSTS, PrivateHosts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from httpcore2 import NetworkStream

    from deltos.logins import Login

    _SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]

ACCEPT_PAGES = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.1"
_REDIRECT_STATUSES = frozenset((301, 302, 303, 307, 308))
_RETRYABLE_STATUSES = frozenset((408, 425, 429, 500, 502, 503, 504))
_ADDRESS_CACHE_SECONDS = 30.0  # a host is resolved and checked again after this time
_TRANSFER_ERRORS = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, OSError)


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Size and time limits of one request."""

    max_bytes: int = 20_000_000
    max_redirects: int = 8
    connect_seconds: float = 10.0
    read_seconds: float = 20.0
    total_seconds: float = 60.0


DESCRIPTION_LIMITS = RequestLimits(max_bytes=MAX_DESCRIPTION_BYTES, total_seconds=300.0)
"""Limits for an API description, which is a single file even for a large API."""


@dataclass(frozen=True, slots=True)
class _RequestParts:
    """The properties of a request that stay the same when a redirect is followed."""

    headers: dict[str, str]
    limits: RequestLimits
    deadline: float


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A server's response. `url` is the URL after redirects, and `body` is decompressed."""

    url: str
    status: int
    media_type: str
    charset: str
    body: bytes
    etag: str = ""
    last_modified: str = ""

    @property
    def not_modified(self) -> bool:
        """Whether the server confirmed that the response cached by the caller is still valid."""
        return self.status == 304


class HttpClient:
    """Thread-safe HTTP client that connects only to allowed addresses."""

    def __init__(
        self,
        *,
        private_hosts: PrivateHosts = NO_PRIVATE_HOSTS,
        limits: RequestLimits | None = None,
        login: Login | None = None,
    ) -> None:
        self._limits = limits or RequestLimits()
        self._private_hosts = private_hosts
        self._login = login
        if login:  # the debug messages of httpcore2 contain responses, which may include credentials
            logging.getLogger("httpcore2").setLevel(logging.WARNING)
        self._pool = httpcore2.ConnectionPool(
            max_connections=16,
            keepalive_expiry=15.0,
            network_backend=_CheckedNetwork(private_hosts),
        )

    def get(
        self,
        url: str,
        *,
        accept: str = ACCEPT_PAGES,
        etag: str = "",
        last_modified: str = "",
        limits: RequestLimits | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpResponse:
        """Send a GET request and follow redirects.

        Raises FetchFailed unless the status code is a success or 304 (not modified).
        """
        headers = {"Accept": accept, **(headers or {})}
        if etag:
            headers["If-None-Match"] = etag
        if last_modified:
            headers["If-Modified-Since"] = last_modified
        return self._request(url, headers, limits or self._limits)

    def _request(self, url: str, headers: dict[str, str], limits: RequestLimits) -> HttpResponse:
        try:
            response = self._follow_redirects(url, headers, limits)
        except FetchFailed as exc:
            if self._login is None:
                raise
            # Raised without `from exc`, because the message of that exception may contain the headers.
            raise FetchFailed(
                self._login.hide(exc.message),
                exc.hint,
                status=exc.status,
                retryable=exc.retryable,
                retry_after_seconds=exc.retry_after_seconds,
            ) from None
        return response if self._login is None else _hide_secrets(response, self._login)

    def _follow_redirects(self, url: str, headers: dict[str, str], limits: RequestLimits) -> HttpResponse:
        headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "gzip, deflate", **headers}
        request = _RequestParts(headers, limits, time.monotonic() + limits.total_seconds)
        seen = {url}
        for _ in range(limits.max_redirects + 1):
            target, response = self._send_once(url, request)
            if response is not None:
                return response
            url = target
            if url in seen:
                raise FetchFailed(f"The address redirects in a loop: {url}")
            seen.add(url)
        raise FetchFailed(f"More than {limits.max_redirects} redirects")

    def check(self, url: str) -> None:
        """Raise an error if Deltos must not contact `url` or the host does not exist. No request is sent."""
        require_web_address(url)
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        checked_addresses(parts.hostname or "", port, self._private_hosts)

    def close(self) -> None:
        """Close idle connections."""
        self._pool.close()

    def _login_headers(self, url: str) -> dict[str, str]:
        """Return the login headers for `url`, or none if it is on another site. Also called after each redirect."""
        return self._login.headers_for(url) if self._login else {}

    def _send_once(self, url: str, request: _RequestParts) -> tuple[str, HttpResponse | None]:
        """Send one request. Return the redirect target and None, or the URL and the response."""
        require_web_address(url)
        try:
            with self._pool.stream(
                "GET",
                url,
                headers=_encode_headers(request.headers | self._login_headers(url), url),
                extensions=_transport_timeouts(request.limits),
            ) as answer:
                response_headers = _Headers(answer.headers)
                if answer.status in _REDIRECT_STATUSES and (location := response_headers.get("location")):
                    return _redirect_target(url, location), None
                _check_status(answer.status, response_headers)
                body = b"" if answer.status == 304 else _read_body(answer.iter_stream(), response_headers, request)
                return url, _build_response(url, answer.status, response_headers, body)
        except httpcore2.TimeoutException as exc:
            raise FetchFailed("The server did not respond in time", retryable=True) from exc
        except (httpcore2.UnsupportedProtocol, httpcore2.LocalProtocolError, UnicodeError) as exc:
            raise FetchFailed(f"Invalid address: {exc}") from exc
        except _TRANSFER_ERRORS as exc:
            raise FetchFailed(f"The connection failed ({exc or type(exc).__name__})", retryable=True) from exc


class _CheckedNetwork(httpcore2.SyncBackend):
    """Network backend that connects only to checked addresses, even if the host name gets another address later."""

    def __init__(self, private_hosts: PrivateHosts) -> None:
        self._private_hosts = private_hosts
        self._checked: dict[tuple[str, int], tuple[float, list[str]]] = {}

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[_SocketOption] | None = None,
    ) -> NetworkStream:
        """Connect to the checked addresses of `host`, one after another, until one accepts the connection."""
        *others, last = self._checked_addresses(host, port)
        for address in others:
            try:
                return super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return super().connect_tcp(last, port, timeout, local_address, socket_options)

    def _checked_addresses(self, host: str, port: int) -> list[str]:
        """Return the checked addresses of a host. The addresses are cached for a short time."""
        now = time.monotonic()
        until, addresses = self._checked.get((host, port), (0.0, []))
        if now >= until:
            addresses = checked_addresses(host, port, self._private_hosts)
            self._checked[host, port] = (now + _ADDRESS_CACHE_SECONDS, addresses)
        return addresses


class _Headers:
    """Response headers by lower-case name. Only the first value of a repeated header is kept."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._values: dict[str, str] = {}
        for name, value in raw:
            self._values.setdefault(name.decode("latin-1").lower(), value.decode("latin-1").strip())

    def get(self, name: str) -> str:
        """Return the value of a header, or an empty string if it is missing."""
        return self._values.get(name, "")


def _transport_timeouts(limits: RequestLimits) -> dict[str, dict[str, float]]:
    return {
        "timeout": {
            "connect": limits.connect_seconds,
            "read": limits.read_seconds,
            "write": limits.read_seconds,
            "pool": limits.total_seconds,
        }
    }


def _read_body(chunks: Iterable[bytes], headers: _Headers, request: _RequestParts) -> bytes:
    """Return the decompressed body of a response. Raise FetchFailed if the body is too large or too slow."""
    max_bytes = request.limits.max_bytes
    declared = headers.get("content-length")
    if declared.isdigit() and int(declared) > max_bytes:
        raise _too_large_error(max_bytes)
    parts: list[bytes] = []
    size = 0
    for part in _decompress(_until_deadline(chunks, request.deadline), headers.get("content-encoding"), max_bytes):
        size += len(part)
        if size > max_bytes:
            raise _too_large_error(max_bytes)
        parts.append(part)
    return b"".join(parts)


def _too_large_error(max_bytes: int) -> FetchFailed:
    return FetchFailed(f"The page is larger than {max_bytes // 1_000_000} MB")


def _hide_secrets(response: HttpResponse, login: Login) -> HttpResponse:
    """Remove the secrets of a login, such as header values, from a response."""
    return replace(
        response,
        url=login.hide(response.url),
        body=login.hide_bytes(response.body),
        etag=response.etag if login.hide(response.etag) == response.etag else "",
        last_modified=login.hide(response.last_modified),
    )


def _redirect_target(url: str, location: str) -> str:
    """Return the absolute URL of a redirect target, without fragment."""
    try:
        return urljoin(url, location).split("#")[0]
    except ValueError as exc:
        raise FetchFailed(f"The server redirects to a malformed address: {location}") from exc


def _encode_headers(headers: dict[str, str], url: str) -> list[tuple[bytes, bytes]]:
    host = urlsplit(url).netloc.rpartition("@")[2]
    pairs = [(b"Host", host.encode("idna" if not host.isascii() else "ascii"))]
    return pairs + [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]


def _check_status(status: int, headers: _Headers) -> None:
    """Raise FetchFailed unless the status code is a success or 304 (not modified)."""
    if 200 <= status < 300 or status == 304:
        return
    reasons = {
        401: "requires a login",
        403: "refuses access",
        404: "has no such page",
        410: "removed the page",
        429: "asks to slow down",
    }
    reason = reasons.get(status, "reports an error" if status >= 500 else "does not return the page")
    raise FetchFailed(
        f"HTTP {status}: the server {reason}",
        hint=HOW_TO_LOG_IN if status == 401 else "",
        status=status,
        retryable=status in _RETRYABLE_STATUSES,
        retry_after_seconds=retry_after(headers.get("retry-after"), time.time()),
    )


def retry_after(value: str, now: float) -> float:
    """Return the delay in seconds from a Retry-After header (seconds or a date), or 0 if it is invalid."""
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError):
        return 0.0


def _until_deadline(chunks: Iterable[bytes], deadline: float) -> Iterator[bytes]:
    """Yield the chunks of a response body until the deadline, then raise FetchFailed."""
    for chunk in chunks:
        if time.monotonic() > deadline:
            raise FetchFailed("Downloading the page took too long", retryable=True)
        yield chunk


def _decompress(chunks: Iterable[bytes], encoding: str, max_bytes: int) -> Iterator[bytes]:
    """Yield the decompressed chunks of a response body. Each chunk has at most `max_bytes` + 1 bytes."""
    if encoding.lower() in ("", "identity"):
        yield from chunks
        return
    if encoding.lower() not in ("gzip", "x-gzip", "deflate"):
        raise FetchFailed(f"The server uses the compression '{encoding}', which is not supported")
    decoder = zlib.decompressobj(wbits=47)  # 47 enables automatic detection of gzip and zlib
    try:
        for chunk in chunks:
            yield decoder.decompress(chunk, max_bytes + 1)
            if decoder.unconsumed_tail:
                yield decoder.decompress(decoder.unconsumed_tail, max_bytes + 1)
    except zlib.error as exc:
        raise FetchFailed(f"The page could not be decompressed ({exc})", retryable=True) from exc


def _build_response(url: str, status: int, headers: _Headers, body: bytes) -> HttpResponse:
    media_type, _, parameters = headers.get("content-type").partition(";")
    _, _, charset = parameters.partition("charset=")
    return HttpResponse(
        url=url,
        status=status,
        media_type=media_type.strip().lower(),
        charset=charset.split(";")[0].strip(" \"'").lower(),
        body=body,
        etag=headers.get("etag"),
        last_modified=headers.get("last-modified"),
    )
