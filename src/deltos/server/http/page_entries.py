"""Who has come in to the page for people: sessions of this process, or of all servers that share a database.

What is kept in a database opens nothing by itself: a session is found by the digest of its cookie, and the token that
it began with can be read with the cookie alone.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Protocol

from deltos.server.http.page_sessions import MOST_SESSIONS, PageSession

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from deltos.server.caller import Caller
    from deltos.server.http.page_sessions import PageSessions
    from deltos.server.http.shared_sessions import SharedSessions

    Admit = Callable[[str], Awaitable[Caller | None]]

_SECRET_BYTES = 32
_NONCE_BYTES = 12
_PAGE = "page\0"  # no id of the protocol's sessions begins so: a header cannot hold it


class PageEntries(Protocol):
    """Begins sessions of the page and finds them again. A token may have been revoked since, or reach less: what it
    stands for is asked every time, as it is for agents."""

    async def begin(self, caller: Caller, token: str) -> str:
        """The cookie of a new session."""

    async def find(self, cookie: str, admit: Admit) -> PageSession | None:
        """The session behind a cookie; None when there is none, it was unused for too long, or its token is no good."""

    async def keep(self, cookie: str, session: PageSession) -> None:
        """Keep what was chosen in a session."""

    async def end(self, cookie: str) -> None:
        """Forget a session."""


class OwnEntries:
    """Implements `PageEntries` in the memory of this process."""

    def __init__(self, sessions: PageSessions) -> None:
        self._sessions = sessions

    async def begin(self, caller: Caller, token: str) -> str:
        return self._sessions.begin(caller, token)

    async def find(self, cookie: str, admit: Admit) -> PageSession | None:
        session = self._sessions.find(cookie)
        if session is None or not session.token:
            return session
        caller = await admit(session.token)
        if caller is None or caller.name != session.caller.name:
            self._sessions.end(cookie)
            return None
        if _rights(caller) != _rights(session.caller):
            session.caller = _resumed(caller, session.caller.conversation.state())
        return session

    async def keep(self, cookie: str, session: PageSession) -> None:
        """It is the same object."""

    async def end(self, cookie: str) -> None:
        self._sessions.end(cookie)


class SharedEntries:
    """Implements `PageEntries` for all servers of a database; they are counted, and end, as the protocol's sessions."""

    def __init__(self, shared: SharedSessions) -> None:
        self._shared = shared

    async def begin(self, caller: Caller, token: str) -> str:
        cookie = secrets.token_urlsafe(_SECRET_BYTES)
        own = [use for use in await self._shared.uses() if use.caller == caller.name]
        if len(own) >= MOST_SESSIONS:
            await self._shared.end_by_key(max(own, key=lambda use: use.idle_seconds).key)
        await self._shared.add(_PAGE + cookie, caller.name, _sealed(cookie, token))
        return cookie

    async def find(self, cookie: str, admit: Admit) -> PageSession | None:
        kept = await self._shared.find(_PAGE + cookie) if cookie else None
        if kept is None:
            return None
        token = _opened(cookie, kept.opening)
        caller = None if token is None else await admit(token)
        if token is None or caller is None or caller.name != kept.caller:
            await self.end(cookie)
            return None
        return PageSession(_csrf(cookie), _resumed(caller, kept.state), token, used_at=0.0, state=kept.state)

    async def keep(self, cookie: str, session: PageSession) -> None:
        state = session.caller.conversation.state()
        if state != session.state:
            await self._shared.set_state(_PAGE + cookie, state)

    async def end(self, cookie: str) -> None:
        await self._shared.end(_PAGE + cookie)


def _rights(caller: Caller) -> tuple[object, ...]:
    """What a caller may do and reach."""
    return caller.level, caller.confinement, caller.nothing_left


def _resumed(caller: Caller, state: str) -> Caller:
    """The caller, going on from what was chosen, unless that is not served to it any more."""
    conversation, confinement = caller.conversation, caller.confinement
    conversation.restore(state)
    if confinement and not all(map(confinement.admits, conversation.project_roots())):
        conversation.restore("")
    return caller


def _derived(cookie: str, purpose: bytes) -> bytes:
    """A key that only who has the cookie can make."""
    return hmac.digest(cookie.encode("utf-8", "surrogateescape"), purpose, "sha256")


def _csrf(cookie: str) -> str:
    return urlsafe_b64encode(_derived(cookie, b"csrf")).decode()


def _sealed(cookie: str, token: str) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # deferred: only where the page is used

    nonce = secrets.token_bytes(_NONCE_BYTES)
    return nonce + AESGCM(_derived(cookie, b"token")).encrypt(nonce, token.encode(), None)


def _opened(cookie: str, sealed: bytes) -> str | None:
    """The token that was sealed with a cookie; None where it was not, or was changed since."""
    from cryptography.exceptions import InvalidTag  # deferred, as above
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(_derived(cookie, b"token")).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None).decode()
    except (InvalidTag, ValueError):
        return None
