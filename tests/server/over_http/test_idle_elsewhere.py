"""A session whose requests went to other servers continues here although the SDK has ended it here in the meantime."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio

from deltos.server.http.sessions import Sessions
from deltos.server.http.shared_sessions import SharedSessions
from deltos.store.http_sessions import SessionUse, StoredSession

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

OPENING = b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'


class Kept:
    """Session records in memory."""

    def __init__(self) -> None:
        self.sessions = {"outer": StoredSession("", OPENING)}

    def find(self, session_id: str) -> StoredSession | None:
        return self.sessions.get(session_id)

    def uses(self) -> list[SessionUse]:
        return []

    def add(self, session_id: str, session: StoredSession) -> None:
        self.sessions[session_id] = session

    def set_state(self, session_id: str, state: str) -> None: ...

    def end(self, session_id: str) -> None: ...

    def end_by_key(self, key: bytes) -> None: ...


class Manager:
    """A fake session manager that answers with the number of the session it opened last, and knows no other session."""

    def __init__(self) -> None:
        self.opened = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        session_id = headers.get(b"mcp-session-id", b"").decode()
        if not session_id:
            assert (await receive())["body"] == OPENING
            self.opened += 1
            session_id = str(self.opened)
        status = 200 if session_id == str(self.opened) else 404
        await send(
            {"type": "http.response.start", "status": status, "headers": [(b"mcp-session-id", session_id.encode())]}
        )
        await send({"type": "http.response.body", "body": json.dumps(session_id).encode()})


async def ask(sessions: Sessions) -> tuple[int, bytes]:
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    scope: Scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [(b"mcp-session-id", b"outer")]}
    await sessions(scope, receive, send)
    assert dict(messages[0]["headers"])[b"mcp-session-id"] == b"outer"
    return messages[0]["status"], messages[1]["body"]


def test_a_session_that_was_only_used_on_other_servers_is_reopened() -> None:
    async def answers() -> list[tuple[int, bytes]]:
        now = [0.0]
        sessions = Sessions(Manager(), 10, 1_800.0, lambda: now[0], SharedSessions(Kept()))
        first = [await ask(sessions), await ask(sessions)]
        now[0] = 1_790.0  # the manager's clock may be slightly ahead
        return [*first, await ask(sessions)]

    assert anyio.run(answers) == [(200, b'"1"'), (200, b'"1"'), (200, b'"2"')]
