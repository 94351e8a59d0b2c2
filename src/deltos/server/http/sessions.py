"""Limits the number of open sessions: on a full server, the caller with most sessions loses one.

An ASGI layer around the SDK's session manager, which owns the sessions. If servers share a database, a session that
another server opened is reopened here with the client's original handshake. Its client keeps the original id; the
manager has its own id for it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers

from deltos.server.conversation import Conversation
from deltos.server.http.caller_id import caller_id
from deltos.server.http.error_responses import error_response

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from deltos.server.http.shared_sessions import SharedSessions
    from deltos.store.http_sessions import StoredSession

METHOD_KEY = "deltos.method"
"""Key in the ASGI scope: the method of the request's JSON-RPC message."""

SESSION_KEY = "deltos.session"
"""Key in the ASGI scope: the request's `OpenSession`."""

MIN_IDLE_SECONDS = 60.0  # on a full server, a session that was idle for this long may be evicted
RETRY_SECONDS = 10
_ID_HEADER = "mcp-session-id"
_MAX_OPENING_BYTES = 65_536
_REOPEN_SECONDS = 10.0
_INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


@dataclass(slots=True)
class OpenSession:
    """An open session: its caller, time of last use and number of running requests."""

    caller: str
    user: object
    used_at: float
    in_use: int = 0  # messages that are being answered
    open_requests: int = 0  # messages that are being answered and open streams
    inner_id: str = ""  # the manager's id of a session that another server opened
    state: str = ""  # conversation state in the database at the last request
    conversation: Conversation | None = None
    restored: str = ""

    def restored_conversation(self, start: Path) -> Conversation:
        """Return the conversation with the state that other servers stored."""
        if self.conversation is None:
            self.conversation = Conversation(start)
        if self.restored != self.state:
            self.conversation.restore(self.state)
            self.restored = self.state
        return self.conversation

    def changed_state(self) -> str | None:
        """Return the conversation state if it differs from the stored one, else None."""
        state = self.conversation.state() if self.conversation else self.state
        return None if state == self.state else state


class Sessions:
    """Forwards requests to the session manager and keeps count of the sessions."""

    def __init__(
        self,
        app: ASGIApp,
        max_sessions: int,
        idle_seconds: float,
        clock: Callable[[], float],
        shared: SharedSessions | None = None,
    ) -> None:
        self._app = app
        self._shared = shared
        self._reopening = anyio.Lock()
        self._max_sessions = max_sessions
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._open_sessions: dict[str, OpenSession] = {}
        self._opening: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """Number of open sessions."""
        self._forget_expired()
        return len(self._open_sessions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = Headers(scope=scope)
        session_id = headers.get(_ID_HEADER)
        if session_id is not None and self._shared is not None:
            await self._forward_shared(self._shared, session_id, scope, receive, send)
        elif session_id is not None:
            await self._forward(session_id, scope, receive, send)
        elif scope.get(METHOD_KEY) == "initialize" and _has_handshake(headers):
            await self._open(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _forward(self, session_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        session = self._open_sessions.get(session_id)
        statuses: list[int] = []
        if session is None:  # the manager answers that the session is unknown
            await self._app(scope, receive, send)
            return
        is_message = scope["method"] == "POST"
        session.in_use += is_message
        session.open_requests += 1
        try:
            await self._app(
                _without_last_event(_inner_scope(scope, session)),
                receive,
                _recording_status(send, statuses, session_id),
            )
        finally:
            session.in_use -= is_message
            session.open_requests -= 1
            session.used_at = self._clock() if is_message else session.used_at
        ended = scope["method"] == "DELETE" and statuses and statuses[0] < 400
        # A caller that guessed an id gets a 404 too, but must not end the session of its owner.
        if ended or (404 in statuses and caller_id(scope) == session.caller):
            self._open_sessions.pop(session_id, None)

    # ------------------------------------------------------------------ sessions of several servers

    async def _forward_shared(
        self, shared: SharedSessions, session_id: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        stored = await shared.find(session_id)
        if stored is None and session_id in self._open_sessions:  # another server ended it
            await self._end(session_id)
        if stored is None or stored.caller != caller_id(scope):
            await error_response(404, "Session not found")(scope, receive, send)
            return
        async with self._reopening:
            with anyio.move_on_after(_REOPEN_SECONDS):
                await self._ensure_open(session_id, stored, scope)
        session = self._open_sessions.get(session_id)
        if session is None:
            wait = {"Retry-After": str(RETRY_SECONDS)}
            await error_response(503, "Too many open sessions", wait)(scope, receive, send)
            return
        session.state = stored.state

        async def save_state_first(message: Message) -> None:
            """Store the changed conversation state before the response is sent."""
            if message["type"] == "http.response.body" and (state := session.changed_state()) is not None:
                await shared.set_state(session_id, state)
                session.state = session.restored = state
            await send(message)

        if scope["method"] == "DELETE":
            await shared.end(session_id)
        await self._forward(session_id, scope, receive, save_state_first)

    async def _ensure_open(self, session_id: str, stored: StoredSession, scope: Scope) -> None:
        """Open a session in this process if it is not open, or reopen it if the manager has ended it or is about to,
        because all its recent requests went to other servers."""
        session = self._open_sessions.get(session_id)
        latest = self._clock() - self._idle_seconds + MIN_IDLE_SECONDS
        if session is not None and not session.open_requests and session.used_at < latest:
            await self._end(session_id)
        if session_id not in self._open_sessions:
            await self._reopen(session_id, stored, scope)

    async def _reopen(self, session_id: str, stored: StoredSession, scope: Scope) -> None:
        """Open a session that another server opened, if there is room for it."""
        caller = caller_id(scope)
        found: list[str] = []
        if await self._make_room(caller):
            await self._app(
                _manager_request(scope, ""), _single_message(stored.opening), _collecting_session_ids(found)
            )
        for inner_id in found:
            await self._app(
                _manager_request(scope, inner_id), _single_message(_INITIALIZED), _collecting_session_ids([])
            )
            self._open_sessions[session_id] = OpenSession(caller, scope.get("user"), self._clock(), inner_id=inner_id)

    async def _make_shared_room(self, shared: SharedSessions, caller: str) -> bool:
        """Whether all servers together have room for one more session, after evicting one if necessary."""
        uses = await shared.uses()
        if len(uses) < self._max_sessions:
            return True
        now = self._clock()
        sessions = {str(n): OpenSession(use.caller, None, now - use.idle_seconds) for n, use in enumerate(uses)}
        evicted = session_to_evict(sessions, caller, self._opening[caller], now)
        if evicted is None:
            return False
        await shared.end_by_key(uses[int(evicted)].key)
        return True

    # ------------------------------------------------------------------ opening and ending

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = caller_id(scope)
        opening, receive = await _read_opening(receive)
        if self._shared is not None and len(opening) > _MAX_OPENING_BYTES:
            await error_response(413, "The handshake is too large")(scope, receive, send)
            return
        has_room = self._shared is None or await self._make_shared_room(self._shared, caller)
        if not has_room or not await self._make_room(caller):
            wait = {"Retry-After": str(RETRY_SECONDS)}
            await error_response(503, "Too many open sessions", wait)(scope, receive, send)
            return
        self._opening[caller] += 1

        async def register_session(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                session_id = Headers(raw=message["headers"]).get(_ID_HEADER)
                if session_id:
                    session = self._open_sessions[session_id] = OpenSession(caller, scope.get("user"), self._clock())
                    scope[SESSION_KEY] = session
                    if self._shared is not None:  # before the client knows the id and uses it on another server
                        await self._shared.add(session_id, caller, opening)
            await send(message)

        try:
            await self._app(scope, receive, register_session)
        finally:
            self._opening[caller] -= 1

    async def _make_room(self, caller: str) -> bool:
        """Whether there is room for one more session of `caller`, after evicting one if necessary."""
        self._forget_expired()
        if len(self._open_sessions) + self._opening.total() < self._max_sessions:
            return True
        session_id = session_to_evict(self._open_sessions, caller, self._opening[caller], self._clock())
        if session_id is None:
            return False
        await self._end(session_id)
        return True

    async def _end(self, session_id: str) -> None:
        """End a session on behalf of its caller."""
        session = self._open_sessions.pop(session_id)
        inner_id = session.inner_id or session_id
        headers = [(b"mcp-session-id", inner_id.encode("latin-1"))]
        scope: Scope = {"type": "http", "method": "DELETE", "path": "/mcp", "query_string": b"", "headers": headers}
        if session.user is not None:
            scope["user"] = session.user

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def ignore(_: Message) -> None:
            return

        await self._app(scope, receive, ignore)

    def _forget_expired(self) -> None:
        """Drop idle sessions that the manager has ended."""
        before = self._clock() - self._idle_seconds
        for session_id, session in list(self._open_sessions.items()):
            if not session.open_requests and session.used_at < before:
                del self._open_sessions[session_id]


def session_to_evict(sessions: Mapping[str, OpenSession], caller: str, opening: int, now: float) -> str | None:
    """Return the session to end so that `caller` can open another one on a full server; None if there is none.

    A caller with at least two sessions more than `caller` loses its least recently used one, preferably one without
    running messages. Otherwise a session that was idle for `MIN_IDLE_SECONDS` ends.
    """
    counts = Counter(session.caller for session in sessions.values())
    largest_holder, max_count = counts.most_common(1)[0] if counts else ("", 0)
    if max_count >= counts[caller] + opening + 2:
        return min(
            (session_id for session_id, session in sessions.items() if session.caller == largest_holder),
            key=lambda session_id: (sessions[session_id].in_use > 0, sessions[session_id].used_at),
        )
    unused = [
        session_id
        for session_id, session in sessions.items()
        if not session.in_use and session.used_at <= now - MIN_IDLE_SECONDS
    ]
    return min(unused, key=lambda session_id: sessions[session_id].used_at, default=None)


def _has_handshake(headers: Headers) -> bool:
    version = headers.get("mcp-protocol-version")
    return version is None or version in HANDSHAKE_PROTOCOL_VERSIONS


def _without_last_event(scope: Scope) -> Scope:
    """Return the scope without `Last-Event-ID`: past events are not stored, so a stream cannot be resumed."""
    if scope["method"] != "GET":
        return scope
    stored = [(name, value) for name, value in scope["headers"] if name.lower() != b"last-event-id"]
    return {**scope, "headers": stored}


def _inner_scope(scope: Scope, session: OpenSession) -> Scope:
    """Return the scope with the manager's session id."""
    scope = {**scope, SESSION_KEY: session}
    if session.inner_id:
        stored = [(name, value) for name, value in scope["headers"] if name.lower() != b"mcp-session-id"]
        scope["headers"] = [*stored, (b"mcp-session-id", session.inner_id.encode("latin-1"))]
    return scope


def _recording_status(send: Send, statuses: list[int], session_id: str) -> Send:
    """Wrap `send` to record the status and to replace the manager's session id by the client's."""

    async def note(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
            name = b"mcp-session-id"
            if any(header.lower() == name for header, _ in message.get("headers", ())):
                stored = [(header, value) for header, value in message["headers"] if header.lower() != name]
                message = {**message, "headers": [*stored, (name, session_id.encode("latin-1"))]}
        await send(message)

    return note


async def _read_opening(receive: Receive) -> tuple[bytes, Receive]:
    """Return the body of an `initialize` request, and a `receive` that yields it again. The request guard passes it as
    one message."""
    first = await receive()
    pending = [first]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return first.get("body", b""), replay


def _manager_request(scope: Scope, inner_id: str) -> Scope:
    """Return the scope of an internal POST request to the session manager, with the caller of `scope`."""
    headers = [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]
    if inner_id:
        headers.append((b"mcp-session-id", inner_id.encode("latin-1")))
    return {**scope, "method": "POST", "headers": headers}


def _single_message(content: bytes) -> Receive:
    """Return a `receive` that yields `content` as the whole body."""
    pending: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> Message:
        if pending:
            return pending.pop()
        await anyio.sleep_forever()  # the next message would be the client's disconnect
        raise AssertionError

    return receive


def _collecting_session_ids(found: list[str]) -> Send:
    """Return a `send` that appends the session id of a successful response to `found`."""

    async def note(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] < 400:
            found.extend(Headers(raw=message["headers"]).getlist(_ID_HEADER))

    return note
