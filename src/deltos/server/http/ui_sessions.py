"""Sessions of the web UI, and the single-use keys that start them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.server.caller import Caller

MAX_SESSIONS = 100  # when exceeded, the least recently used session of the caller with most sessions ends
SESSION_SECONDS = 7 * 24 * 3600
_SECRET_BYTES = 32


@dataclass(slots=True)
class UiSession:
    """A browser session.

    `token` is the token of the sign-in, verified again at every request and never sent back; `state` is the stored
    conversation state.
    """

    csrf: str
    caller: Caller
    token: str
    used_at: float
    state: str = ""


class UiSessions:
    """Creates and verifies keys and sessions. Stores only digests of their secrets."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._keys: set[bytes] = set()
        self._sessions: dict[bytes, UiSession] = {}

    def new_key(self) -> str:
        """Create a single-use key."""
        key = secrets.token_urlsafe(_SECRET_BYTES)
        self._keys.add(_digest(key))
        return key

    def redeem(self, key: str) -> bool:
        """Whether `key` was valid; it is not any more."""
        digest = _digest(key)
        if digest not in self._keys:
            return False
        self._keys.remove(digest)
        return True

    def begin(self, caller: Caller, token: str = "") -> str:
        """Create a session and return its cookie."""
        cookie = secrets.token_urlsafe(_SECRET_BYTES)
        if len(self._sessions) >= MAX_SESSIONS:
            self._evict_one()
        csrf = secrets.token_urlsafe(_SECRET_BYTES)
        self._sessions[_digest(cookie)] = UiSession(csrf, caller, token, self._clock())
        return cookie

    def _evict_one(self) -> None:
        """End a session of the caller with most sessions, so that no caller can end the sessions of others."""
        counts = Counter(session.caller.name for session in self._sessions.values())
        max_count = max(counts.values())
        candidates = {digest: each for digest, each in self._sessions.items() if counts[each.caller.name] == max_count}
        del self._sessions[min(candidates, key=lambda digest: candidates[digest].used_at)]

    def find(self, cookie: str) -> UiSession | None:
        """Return the session of a cookie; None if it is unknown or expired."""
        session = self._sessions.get(_digest(cookie))
        if session is None:
            return None
        now = self._clock()
        if session.used_at < now - SESSION_SECONDS:
            self.end(cookie)
            return None
        session.used_at = now
        return session

    def end(self, cookie: str) -> None:
        """Delete a session."""
        self._sessions.pop(_digest(cookie), None)


def is_equal_secret(given: str, expected: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
