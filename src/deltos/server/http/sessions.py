"""Shares out the open sessions: when all are taken, whoever has most of them gives one up. Plain ASGI, around the SDK's
session manager, which keeps the sessions themselves.

Where servers share a database, a session may come from another one: it is opened here once more, as its client opened
it there, and goes by its own id outside and by the manager's inside."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers

from deltos.server.conversation import Conversation
from deltos.server.http.callers import caller_of
from deltos.server.http.refusal import refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from deltos.server.http.shared_sessions import SharedSessions
    from deltos.store.http_sessions import KeptSession

METHOD_KEY = "deltos.method"
"""In the scope of a request: the method of its JSON-RPC message."""

SESSION_KEY = "deltos.session"
"""In the scope of a request: the session that it belongs to."""

UNUSED_SECONDS = 60.0  # on a full server, a session that was idle for so long ends for a newcomer
RETRY_SECONDS = 10
_ID_HEADER = "mcp-session-id"
_MOST_OPENING_BYTES = 65_536
_ADOPT_SECONDS = 10.0
_INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


@dataclass(slots=True)
class Held:
    """An open session: whose it is, when it was last used, how many of its messages are being answered."""

    caller: str
    user: object
    used_at: float
    in_use: int = 0  # messages that are being answered
    open_requests: int = 0  # these, and streams on which the client listens
    inner_id: str = ""  # of the manager, for a session that another server opened
    state: str = ""  # what was chosen, as the database had it with the last request
    conversation: Conversation | None = None
    restored: str = ""

    def conversation_from(self, start: Path) -> Conversation:
        """What the session remembers, brought to where other servers left it."""
        if self.conversation is None:
            self.conversation = Conversation(start)
        if self.restored != self.state:
            self.conversation.restore(self.state)
            self.restored = self.state
        return self.conversation

    def changed_state(self) -> str | None:
        """What was chosen since the database was asked; None when nothing was."""
        state = self.conversation.state() if self.conversation else self.state
        return None if state == self.state else state


class Sessions:
    """Lets requests through to the session manager, and keeps account of the sessions that they open and end."""

    def __init__(
        self,
        app: ASGIApp,
        most: int,
        idle_seconds: float,
        clock: Callable[[], float],
        shared: SharedSessions | None = None,
    ) -> None:
        self._app = app
        self._shared = shared
        self._adopting = anyio.Lock()
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
        if session_id is not None and self._shared is not None:
            await self._use_shared(self._shared, session_id, scope, receive, send)
        elif session_id is not None:
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
            await self._app(_without_last_event(_inner(scope, held)), receive, _noting(send, statuses, session_id))
        finally:
            held.in_use -= is_message
            held.open_requests -= 1
            held.used_at = self._clock() if is_message else held.used_at
        ended = scope["method"] == "DELETE" and statuses and statuses[0] < 400
        # Also a caller who guessed an id gets 404 from the manager, and the session of its owner stays.
        if ended or (404 in statuses and caller_of(scope) == held.caller):
            self._held.pop(session_id, None)

    # ------------------------------------------------------------------ sessions of several servers

    async def _use_shared(
        self, shared: SharedSessions, session_id: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        kept = await shared.find(session_id)
        if kept is None and session_id in self._held:  # it ended elsewhere
            await self._end(session_id)
        if kept is None or kept.caller != caller_of(scope):
            await refusal(404, "Session not found")(scope, receive, send)
            return
        async with self._adopting:
            with anyio.move_on_after(_ADOPT_SECONDS):
                await self._hold_here(session_id, kept, scope)
        held = self._held.get(session_id)
        if held is None:
            wait = {"Retry-After": str(RETRY_SECONDS)}
            await refusal(503, "Too many open sessions", wait)(scope, receive, send)
            return
        held.state = kept.state

        async def keep_first(message: Message) -> None:
            """What a call has chosen is kept before the call is answered."""
            if message["type"] == "http.response.body" and (state := held.changed_state()) is not None:
                await shared.set_state(session_id, state)
                held.state = held.restored = state
            await send(message)

        if scope["method"] == "DELETE":
            await shared.end(session_id)
        await self._use(session_id, scope, receive, keep_first)

    async def _hold_here(self, session_id: str, kept: KeptSession, scope: Scope) -> None:
        """Have a session here: as it is, or opened once more where the manager has ended it, or is about to, because
        all that was asked of it was asked elsewhere."""
        held = self._held.get(session_id)
        latest = self._clock() - self._idle_seconds + UNUSED_SECONDS
        if held is not None and not held.open_requests and held.used_at < latest:
            await self._end(session_id)
        if session_id not in self._held:
            await self._adopt(session_id, kept, scope)

    async def _adopt(self, session_id: str, kept: KeptSession, scope: Scope) -> None:
        """Open a session here that another server opened, for its caller, where there is room for it."""
        caller = caller_of(scope)
        found: list[str] = []
        if await self._make_room(caller):
            await self._app(_message(scope, ""), _body(kept.opening), _finding(found))
        for inner_id in found:
            await self._app(_message(scope, inner_id), _body(_INITIALIZED), _finding([]))
            self._held[session_id] = Held(caller, scope.get("user"), self._clock(), inner_id=inner_id)

    async def _make_shared_room(self, shared: SharedSessions, caller: str) -> bool:
        """Whether all servers together have room for one more session; ends another one where that is due."""
        uses = await shared.uses()
        if len(uses) < self._most:
            return True
        now = self._clock()
        held = {str(n): Held(use.caller, None, now - use.idle_seconds) for n, use in enumerate(uses)}
        due = due_session(held, caller, self._opening[caller], now)
        if due is None:
            return False
        await shared.end_by_key(uses[int(due)].key)
        return True

    # ------------------------------------------------------------------ opening and ending

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = caller_of(scope)
        opening, receive = await _opening_of(receive)
        if self._shared is not None and len(opening) > _MOST_OPENING_BYTES:
            await refusal(413, "The handshake is too large")(scope, receive, send)
            return
        has_room = self._shared is None or await self._make_shared_room(self._shared, caller)
        if not has_room or not await self._make_room(caller):
            wait = {"Retry-After": str(RETRY_SECONDS)}
            await refusal(503, "Too many open sessions", wait)(scope, receive, send)
            return
        self._opening[caller] += 1

        async def note_session(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                session_id = Headers(raw=message["headers"]).get(_ID_HEADER)
                if session_id:
                    held = self._held[session_id] = Held(caller, scope.get("user"), self._clock())
                    scope[SESSION_KEY] = held
                    if self._shared is not None:  # before the client knows of it, and asks another server
                        await self._shared.add(session_id, caller, opening)
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
        inner_id = held.inner_id or session_id
        headers = [(b"mcp-session-id", inner_id.encode("latin-1"))]
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


def _inner(scope: Scope, held: Held) -> Scope:
    """A request as the manager knows its session."""
    scope = {**scope, SESSION_KEY: held}
    if held.inner_id:
        kept = [(name, value) for name, value in scope["headers"] if name.lower() != b"mcp-session-id"]
        scope["headers"] = [*kept, (b"mcp-session-id", held.inner_id.encode("latin-1"))]
    return scope


def _noting(send: Send, statuses: list[int], session_id: str) -> Send:
    async def note(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
            name = b"mcp-session-id"
            if any(header.lower() == name for header, _ in message.get("headers", ())):
                kept = [(header, value) for header, value in message["headers"] if header.lower() != name]
                message = {**message, "headers": [*kept, (name, session_id.encode("latin-1"))]}
        await send(message)

    return note


async def _opening_of(receive: Receive) -> tuple[bytes, Receive]:
    """The body that opens a session, and a `receive` that gives it once more; the guard passes it on whole."""
    first = await receive()
    pending = [first]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return first.get("body", b""), replay


def _message(scope: Scope, inner_id: str) -> Scope:
    """A request of ours for the caller of another one: a message to the manager."""
    headers = [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]
    if inner_id:
        headers.append((b"mcp-session-id", inner_id.encode("latin-1")))
    return {**scope, "method": "POST", "headers": headers}


def _body(content: bytes) -> Receive:
    pending: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> Message:
        if pending:
            return pending.pop()
        await anyio.sleep_forever()  # whoever asks for more waits for the client to hang up
        raise AssertionError

    return receive


def _finding(found: list[str]) -> Send:
    """Takes an answer and keeps the id of the session that it opened."""

    async def note(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] < 400:
            found.extend(Headers(raw=message["headers"]).getlist(_ID_HEADER))

    return note
