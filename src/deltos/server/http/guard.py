"""ASGI middleware that checks each request before the MCP endpoint: host, origin, rate, concurrency and body."""

from __future__ import annotations

import logging
import time
from collections import Counter
from typing import TYPE_CHECKING

import anyio
from starlette.datastructures import Headers

from deltos.errors import StoreError
from deltos.server.http.caller_id import caller_id
from deltos.server.http.error_responses import error_response, invalid_message_response
from deltos.server.messages import InvalidMessage, read_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from deltos.server.http.options import ServerLimits
    from deltos.server.http.origin import OriginPolicy
    from deltos.server.http.rate_limit import RateLimit

    ScopeCheck = Callable[[Scope, bytes], Response | None]
    Observe = Callable[[Scope, str, int, float], None]

logger = logging.getLogger(__name__)

_MAX_CALLER_SHARE = 0.75  # maximum share of the concurrent requests that may belong to one caller
_STORE_RETRY_SECONDS = 5
_KNOWN_PATHS = frozenset({"/mcp", "/healthz", "/readyz", "/metrics"})


class HostGuard:
    """Outermost middleware, which rejects requests for other hosts and requests from other web sites.

    `observe` is called for each request with the path, the status, and the seconds until the response started. Unknown
    paths are passed as `other`.
    """

    def __init__(self, app: ASGIApp, policy: OriginPolicy, observe: Observe) -> None:
        self._app = app
        self._policy = policy
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.monotonic()

        async def observed_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                path = scope["path"] if scope["path"] in _KNOWN_PATHS else "other"
                self._observe(scope, path, message["status"], time.monotonic() - started)
            await send(message)

        await (self._rejection(scope) or self._app)(scope, receive, observed_send)

    def _rejection(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or not self._policy.admits_host(headers["host"]):
            return error_response(421, "Misdirected Request: this server does not serve that host")
        if not all(self._policy.admits_origin(origin, headers["host"]) for origin in headers.getlist("origin")):
            return error_response(403, "Forbidden: requests from this origin are not allowed")
        return None


class StoreGuard:
    """Middleware that responds with status 503 and a retry time while the database is unavailable."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        has_begun = False

        async def tracked_send(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, tracked_send)
        except StoreError as error:
            if has_begun:
                raise
            logger.warning("deltos mcp: %s", error)
            wait = {"Retry-After": str(_STORE_RETRY_SECONDS)}
            await error_response(503, "The server's database is not available", wait)(scope, receive, send)


class RequestGuard:
    """Middleware that limits rate, concurrency and body size, and rejects requests during shutdown."""

    def __init__(self, app: ASGIApp, limits: ServerLimits, rate: RateLimit, check_scope: ScopeCheck) -> None:
        self._app = app
        self._limits = limits
        self._rate = rate
        self._check_scope = check_scope
        self._drained = anyio.Event()
        self._requests_by_caller: Counter[str] = Counter()
        self.closed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if rejection := self._rejection(scope):
            await rejection(scope, receive, send)
        elif scope["method"] == "POST":
            caller = caller_id(scope)
            self._requests_by_caller[caller] += 1
            try:
                await self._serve_post(scope, receive, send)
            finally:
                self._requests_by_caller -= Counter((caller,))
                if not self._requests_by_caller:
                    self._drained.set()
        else:
            await self._app(_without_last_event_id(scope), receive, send)

    @property
    def in_flight(self) -> int:
        """Number of requests being processed."""
        return self._requests_by_caller.total()

    async def drain(self, seconds: float) -> None:
        """Reject new requests, and wait up to `seconds` until all running requests are answered."""
        self.closed = True
        with anyio.move_on_after(seconds):
            while self.in_flight:
                self._drained = anyio.Event()
                await self._drained.wait()

    def _rejection(self, scope: Scope) -> Response | None:
        if self.closed:
            return error_response(503, "The server is shutting down", {"Retry-After": "1", "Connection": "close"})
        caller = caller_id(scope)
        if wait_seconds := self._rate.wait_seconds(caller):
            return error_response(429, "Too many requests", {"Retry-After": str(wait_seconds)})
        if self.in_flight >= self._limits.concurrent_requests or self._requests_by_caller[
            caller
        ] >= self._max_requests_of(caller):
            return error_response(503, "Too many concurrent requests", {"Retry-After": "1"})
        return None

    def _max_requests_of(self, caller: str) -> int:
        """Return the maximum number of concurrent requests of one caller, which is the same for all active callers."""
        callers = len(self._requests_by_caller.keys() | {caller})
        return max(1, int(self._limits.concurrent_requests * _MAX_CALLER_SHARE) // callers)

    async def _serve_post(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with anyio.fail_after(self._limits.body_seconds):
                body = await self._read_body(scope, receive)
        except TimeoutError:
            await error_response(408, "The request was not received in time", {"Connection": "close"})(
                scope, receive, send
            )
            return
        if body is None:  # the client has disconnected
            return
        error = self._message_error(scope, body)
        await (error or self._app)(scope, _replay_body(body, receive), send)

    def _message_error(self, scope: Scope, body: bytes) -> Response | None:
        if len(body) > self._limits.body_bytes:
            return error_response(413, "The request is too large", {"Connection": "close"})
        try:
            read_message(body)
        except InvalidMessage as error:
            return invalid_message_response(error)
        return self._check_scope(scope, body)

    async def _read_body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the body, truncated shortly after the size limit, or None if the client disconnected."""
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared) > self._limits.body_bytes:
            return bytes(self._limits.body_bytes + 1)
        parts = bytearray()
        while len(parts) <= self._limits.body_bytes:
            message = await receive()
            if message["type"] != "http.request":
                return None
            parts += message.get("body", b"")
            if not message.get("more_body", False):
                break
        return bytes(parts)


def _without_last_event_id(scope: Scope) -> Scope:
    """Return the scope without `Last-Event-ID`. Streams cannot be resumed, because past events are not stored."""
    return {**scope, "headers": [each for each in scope["headers"] if each[0].lower() != b"last-event-id"]}


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` callable that returns the body first and then all later messages."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay
