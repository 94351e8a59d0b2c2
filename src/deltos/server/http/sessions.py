"""Shares out the open sessions: when all are taken, whoever has most of them gives one up. Plain ASGI, around the SDK's
session manager, which keeps the sessions themselves."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers

from deltos.server.http.callers import caller_of
from deltos.server.http.refusal import refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

METHOD_KEY = "deltos.method"
"""In the scope of a request: the method of its JSON-RPC message."""

UNUSED_SECONDS = 60.0  # on a full server, a session that was idle for so long ends for a newcomer
RETRY_SECONDS = 10
_ID_HEADER = "mcp-session-id"


@dataclass(slots=True)
class Held:
    """An open session: whose it is, when it was last used, how many of its messages are being answered."""

    caller: str
    user: object
    used_at: float
    in_use: int = 0  # messages that are being answered
    open_requests: int = 0  # these, and streams on which the client listens


class Sessions:
    """Lets requests through to the session manager, and keeps account of the sessions that they open and end."""

    def __init__(self, app: ASGIApp, most: int, idle_seconds: float, clock: Callable[[], float]) -> None:
        self._app = app
        self._most = most
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._held: dict[str, Held] = {}
        self._opening: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """How many sessions are open."""
        self._forget_expired()
        return len(self._held)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = Headers(scope=scope)
        session_id = headers.get(_ID_HEADER)
        if session_id is not None:
            await self._use(session_id, scope, receive, send)
        elif scope.get(METHOD_KEY) == "initialize" and _has_handshake(headers):
            await self._open(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _use(self, session_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        held = self._held.get(session_id)
        statuses: list[int] = []
        if held is None:  # unknown: the manager says so
            await self._app(scope, receive, send)
            return
        is_message = scope["method"] == "POST"
        held.in_use += is_message
        held.open_requests += 1
        try:
            await self._app(_without_last_event(scope), receive, _noting(send, statuses))
        finally:
            held.in_use -= is_message
            held.open_requests -= 1
            held.used_at = self._clock() if is_message else held.used_at
        ended = scope["method"] == "DELETE" and statuses and statuses[0] < 400
        # Also a caller who guessed an id gets 404 from the manager, and the session of its owner stays.
        if ended or (404 in statuses and caller_of(scope) == held.caller):
            self._held.pop(session_id, None)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = caller_of(scope)
        if not await self._make_room(caller):
            wait = {"Retry-After": str(RETRY_SECONDS)}
            await refusal(503, "Too many open sessions", wait)(scope, receive, send)
            return
        self._opening[caller] += 1

        async def note_session(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                session_id = Headers(raw=message["headers"]).get(_ID_HEADER)
                if session_id:
                    self._held[session_id] = Held(caller, scope.get("user"), self._clock())
            await send(message)

        try:
            await self._app(scope, receive, note_session)
        finally:
            self._opening[caller] -= 1

    async def _make_room(self, caller: str) -> bool:
        """Whether there is room for one more session of `caller`; ends another one where that is due."""
        self._forget_expired()
        if len(self._held) + self._opening.total() < self._most:
            return True
        session_id = due_session(self._held, caller, self._opening[caller], self._clock())
        if session_id is None:
            return False
        await self._end(session_id)
        return True

    async def _end(self, session_id: str) -> None:
        """End a session, as the caller who opened it."""
        held = self._held.pop(session_id)
        headers = [(b"mcp-session-id", session_id.encode("latin-1"))]
        scope: Scope = {"type": "http", "method": "DELETE", "path": "/mcp", "query_string": b"", "headers": headers}
        if held.user is not None:
            scope["user"] = held.user

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def ignore(_: Message) -> None:
            return

        await self._app(scope, receive, ignore)

    def _forget_expired(self) -> None:
        """Forget what the manager has ended by itself: sessions that nothing was asked of for long."""
        before = self._clock() - self._idle_seconds
        for session_id, held in list(self._held.items()):
            if not held.open_requests and held.used_at < before:
                del self._held[session_id]


def due_session(held: Mapping[str, Held], caller: str, opening: int, now: float) -> str | None:
    """The session that ends so that `caller` can open another one on a full server; None when none may.

    Whoever holds at least two more than the caller gives one up: the one unused for longest, one that is being answered
    only if all are. Otherwise a session that nobody used for a minute ends.
    """
    counts = Counter(session.caller for session in held.values())
    greediest, most = counts.most_common(1)[0] if counts else ("", 0)
    if most >= counts[caller] + opening + 2:
        return min(
            (session_id for session_id, session in held.items() if session.caller == greediest),
            key=lambda session_id: (held[session_id].in_use > 0, held[session_id].used_at),
        )
    unused = [
        session_id
        for session_id, session in held.items()
        if not session.in_use and session.used_at <= now - UNUSED_SECONDS
    ]
    return min(unused, key=lambda session_id: held[session_id].used_at, default=None)


def _has_handshake(headers: Headers) -> bool:
    version = headers.get("mcp-protocol-version")
    return version is None or version in HANDSHAKE_PROTOCOL_VERSIONS


def _without_last_event(scope: Scope) -> Scope:
    """The request of a client that resumes a stream as one that opens a stream: events of the past are not kept."""
    if scope["method"] != "GET":
        return scope
    kept = [(name, value) for name, value in scope["headers"] if name.lower() != b"last-event-id"]
    return {**scope, "headers": kept}


def _noting(send: Send, statuses: list[int]) -> Send:
    async def note(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
        await send(message)

    return note
