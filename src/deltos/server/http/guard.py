"""What a request passes before it reaches the protocol: its host, its rate, room, its body. Plain ASGI."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from starlette.datastructures import Headers

from deltos.errors import StoreError
from deltos.server.http.callers import caller_of
from deltos.server.http.refusal import as_response, refusal
from deltos.server.http.sessions import METHOD_KEY
from deltos.server.messages import Refused, read_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from deltos.server.http.options import ServerLimits
    from deltos.server.http.origin import OriginPolicy
    from deltos.server.http.rate import RateLimit

    ScopeCheck = Callable[[Scope, bytes], Response | None]
    Observe = Callable[[Scope, str, int, float], None]

_SHARED_OUT = 0.75  # share of the concurrent requests that one caller may have; the rest is kept for callers with none
_STORE_RETRY_SECONDS = 5
_PATHS = frozenset({"/mcp", "/healthz", "/readyz", "/metrics"})


class HostGuard:
    """The outermost layer: turns requests for other hosts and from foreign pages away; `observe` hears of every one,
    with its path (`other` for those that callers make up), its status and the time until its response began."""

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

        async def counted_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                path = scope["path"] if scope["path"] in _PATHS else "other"
                self._observe(scope, path, message["status"], time.monotonic() - started)
            await send(message)

        await (self._turned_away(scope) or self._app)(scope, receive, counted_send)

    def _turned_away(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or not self._policy.admits_host(headers["host"]):
            return refusal(421, "Misdirected Request: this host is not served here")
        if not all(self._policy.admits_origin(origin) for origin in headers.getlist("origin")):
            return refusal(403, "Forbidden: this origin may not call")
        return None


class StoreGuard:
    """Around all that asks the database: where it does not answer, the request is told to come back."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        has_begun = False

        async def note_begin(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, note_begin)
        except StoreError as error:
            if has_begun:
                raise
            sys.stderr.write(f"deltos mcp: {error}\n")
            wait = {"Retry-After": str(_STORE_RETRY_SECONDS)}
            await refusal(503, "The server's database does not answer", wait)(scope, receive, send)


class RequestGuard:
    """The layer before the protocol: how often, how many at once, how large; none once the server is to end."""

    def __init__(self, app: ASGIApp, limits: ServerLimits, rate: RateLimit, check_scope: ScopeCheck) -> None:
        self._app = app
        self._limits = limits
        self._rate = rate
        self._check_scope = check_scope
        self._emptied = anyio.Event()
        self._of_caller: Counter[str] = Counter()
        self.closed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if turned_away := self._turned_away(scope):
            await turned_away(scope, receive, send)
        elif scope["method"] == "POST":
            caller = caller_of(scope)
            self._of_caller[caller] += 1
            try:
                await self._serve(scope, receive, send)
            finally:
                self._of_caller -= Counter((caller,))
                if not self._of_caller:
                    self._emptied.set()
        else:
            await self._app(scope, receive, send)

    @property
    def in_flight(self) -> int:
        """How many requests are being answered."""
        return self._of_caller.total()

    async def drain(self, seconds: float) -> None:
        """Refuse new requests; return when the last one is answered, or after `seconds`."""
        self.closed = True
        with anyio.move_on_after(seconds):
            while self.in_flight:
                self._emptied = anyio.Event()
                await self._emptied.wait()

    def _turned_away(self, scope: Scope) -> Response | None:
        if self.closed:
            return refusal(503, "The server is shutting down", {"Retry-After": "1", "Connection": "close"})
        caller = caller_of(scope)
        if wait_seconds := self._rate.wait_seconds(caller):
            return refusal(429, "Too many requests", {"Retry-After": str(wait_seconds)})
        if self.in_flight >= self._limits.concurrent_requests or self._of_caller[caller] >= self._share(caller):
            return refusal(503, "Too many requests at once", {"Retry-After": "1"})
        return None

    def _share(self, caller: str) -> int:
        """How many requests a caller may have at once: an equal part of most of the room, so that some is left."""
        callers = len(self._of_caller.keys() | {caller})
        return max(1, int(self._limits.concurrent_requests * _SHARED_OUT) // callers)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with anyio.fail_after(self._limits.body_seconds):
                body = await self._body(scope, receive)
        except TimeoutError:
            await refusal(408, "The request took too long to arrive", {"Connection": "close"})(scope, receive, send)
            return
        if body is None:  # the client has gone
            return
        refused = self._refused(scope, body)
        await (refused or self._app)(scope, _replay(body, receive), send)

    def _refused(self, scope: Scope, body: bytes) -> Response | None:
        if len(body) > self._limits.body_bytes:
            return refusal(413, "The request is too large", {"Connection": "close"})
        try:
            message = read_message(body)
        except Refused as refused:
            return as_response(refused)
        if isinstance(message, types.JSONRPCRequest):
            scope[METHOD_KEY] = message.method
        return self._check_scope(scope, body)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole body, or of a larger one just more than is allowed; None when the client hung up."""
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


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body once more, then whatever comes after it."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay
