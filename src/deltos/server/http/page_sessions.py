"""Who looks at the page for people: opening keys that work once, and the sessions that they begin."""

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

MOST_SESSIONS = 100  # beyond it one of the caller who has most ends, the one that was unused longest
SESSION_SECONDS = 7 * 24 * 3600
_SECRET_BYTES = 32


@dataclass(slots=True)
class PageSession:
    """One browser. `token` is what it signed in with, asked about again at every request; never sent back. `state` is
    what was chosen in it when it was found."""

    csrf: str
    caller: Caller
    token: str
    used_at: float
    state: str = ""


class PageSessions:
    """Makes keys and sessions, and tells valid ones from others. Only digests of their secrets are kept."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._keys: set[bytes] = set()
        self._sessions: dict[bytes, PageSession] = {}

    def new_key(self) -> str:
        """A key that opens the page once."""
        key = secrets.token_urlsafe(_SECRET_BYTES)
        self._keys.add(_digest(key))
        return key

    def redeem(self, key: str) -> bool:
        """Whether `key` was valid until now."""
        digest = _digest(key)
        if digest not in self._keys:
            return False
        self._keys.remove(digest)
        return True

    def begin(self, caller: Caller, token: str = "") -> str:
        """The cookie of a new session."""
        cookie = secrets.token_urlsafe(_SECRET_BYTES)
        if len(self._sessions) >= MOST_SESSIONS:
            self._end_one()
        csrf = secrets.token_urlsafe(_SECRET_BYTES)
        self._sessions[_digest(cookie)] = PageSession(csrf, caller, token, self._clock())
        return cookie

    def _end_one(self) -> None:
        """End a session of the caller who has most of them, so that nobody can end those of others."""
        counts = Counter(session.caller.name for session in self._sessions.values())
        most = max(counts.values())
        of_them = {digest: each for digest, each in self._sessions.items() if counts[each.caller.name] == most}
        del self._sessions[min(of_them, key=lambda digest: of_them[digest].used_at)]

    def find(self, cookie: str) -> PageSession | None:
        """The session behind a cookie; None when there is none, or it was unused for too long."""
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
        """Forget a session."""
        self._sessions.pop(_digest(cookie), None)


def is_same(given: str, expected: str) -> bool:
    """Whether two secrets are equal, in a time that tells nothing about them."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
