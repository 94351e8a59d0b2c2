"""Stores of web UI sessions: in the memory of one process, or in a database that servers share.

The stored data alone gives no access: a session is stored under the digest of its cookie, and its token is encrypted
with a key derived from the cookie.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Protocol

from deltos.server.http.ui_sessions import MAX_SESSIONS, UiSession

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from deltos.server.caller import Caller
    from deltos.server.http.shared_sessions import SharedSessions
    from deltos.server.http.ui_sessions import UiSessions

    Authenticate = Callable[[str], Awaitable[Caller | None]]

_SECRET_BYTES = 32
_NONCE_BYTES = 12
_KEY_PREFIX = "page\0"  # MCP session ids cannot contain a NUL, so the keys never collide


class UiSessionStore(Protocol):
    """Creates and finds web UI sessions. Tokens are verified again at every request, as for agents."""

    async def begin(self, caller: Caller, token: str) -> str:
        """Create a session and return its cookie."""

    async def find(self, cookie: str, authenticate: Authenticate) -> UiSession | None:
        """Return the session of a cookie; None if it is unknown or expired, or its token is not valid."""

    async def keep(self, cookie: str, session: UiSession) -> None:
        """Save the conversation state of a session."""

    async def end(self, cookie: str) -> None:
        """Delete a session."""


class LocalUiSessions:
    """Implements `UiSessionStore` in the memory of this process."""

    def __init__(self, sessions: UiSessions) -> None:
        self._sessions = sessions

    async def begin(self, caller: Caller, token: str) -> str:
        return self._sessions.begin(caller, token)

    async def find(self, cookie: str, authenticate: Authenticate) -> UiSession | None:
        session = self._sessions.find(cookie)
        if session is None or not session.token:
            return session
        caller = await authenticate(session.token)
        if caller is None or caller.name != session.caller.name:
            self._sessions.end(cookie)
            return None
        if _rights(caller) != _rights(session.caller):
            session.caller = _restore_state(caller, session.caller.conversation.state())
        return session

    async def keep(self, cookie: str, session: UiSession) -> None:
        """Do nothing: the session object is the stored one."""

    async def end(self, cookie: str) -> None:
        self._sessions.end(cookie)


class SharedUiSessions:
    """Implements `UiSessionStore` in a database that servers share; they are limited and expire like MCP sessions."""

    def __init__(self, shared: SharedSessions) -> None:
        self._shared = shared

    async def begin(self, caller: Caller, token: str) -> str:
        cookie = secrets.token_urlsafe(_SECRET_BYTES)
        own = [use for use in await self._shared.uses() if use.caller == caller.name]
        if len(own) >= MAX_SESSIONS:
            await self._shared.end_by_key(max(own, key=lambda use: use.idle_seconds).key)
        await self._shared.add(_KEY_PREFIX + cookie, caller.name, _encrypt_token(cookie, token))
        return cookie

    async def find(self, cookie: str, authenticate: Authenticate) -> UiSession | None:
        stored = await self._shared.find(_KEY_PREFIX + cookie) if cookie else None
        if stored is None:
            return None
        token = _decrypt_token(cookie, stored.opening)
        caller = None if token is None else await authenticate(token)
        if token is None or caller is None or caller.name != stored.caller:
            await self.end(cookie)
            return None
        return UiSession(_csrf(cookie), _restore_state(caller, stored.state), token, used_at=0.0, state=stored.state)

    async def keep(self, cookie: str, session: UiSession) -> None:
        state = session.caller.conversation.state()
        if state != session.state:
            await self._shared.set_state(_KEY_PREFIX + cookie, state)

    async def end(self, cookie: str) -> None:
        await self._shared.end(_KEY_PREFIX + cookie)


def _rights(caller: Caller) -> tuple[object, ...]:
    """Return the caller's rights, for comparison."""
    return caller.level, caller.confinement, caller.denial_reason


def _restore_state(caller: Caller, state: str) -> Caller:
    """Restore the conversation state of a caller, unless its project is no longer accessible."""
    conversation, confinement = caller.conversation, caller.confinement
    conversation.restore(state)
    if confinement and not all(map(confinement.admits, conversation.project_roots())):
        conversation.restore("")
    return caller


def _derive_key(cookie: str, purpose: bytes) -> bytes:
    """Derive a key from a cookie."""
    return hmac.digest(cookie.encode("utf-8", "surrogateescape"), purpose, "sha256")


def _csrf(cookie: str) -> str:
    return urlsafe_b64encode(_derive_key(cookie, b"csrf")).decode()


def _encrypt_token(cookie: str, token: str) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # deferred: only the web UI needs it

    nonce = secrets.token_bytes(_NONCE_BYTES)
    return nonce + AESGCM(_derive_key(cookie, b"token")).encrypt(nonce, token.encode(), None)


def _decrypt_token(cookie: str, sealed: bytes) -> str | None:
    """Decrypt a token with the key of its cookie; None if the data was encrypted with another cookie or modified."""
    from cryptography.exceptions import InvalidTag  # deferred, as above
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return (
            AESGCM(_derive_key(cookie, b"token")).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None).decode()
        )
    except (InvalidTag, ValueError):
        return None
