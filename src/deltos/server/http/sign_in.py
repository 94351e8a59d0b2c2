"""Sign-in to the web UI without state on the server, so that any server process can answer.

The cookie contains the token from the sign-in form, or a secret of this process. The CSRF token is derived from the
cookie.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.server.caller import Caller

COOKIE_LIFETIME_SECONDS = 7 * 24 * 3600
MAX_COOKIE_CHARACTERS = 3_800  # browsers drop cookies above 4,096 bytes
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class PageUser:
    """The caller of a web UI request, and the CSRF token that requests for changes must contain."""

    caller: Caller
    csrf: str


class OpeningLink:
    """Link with a single-use key, which the browser exchanges for the cookie of this process."""

    def __init__(self) -> None:
        self.cookie = secrets.token_urlsafe(_SECRET_BYTES)
        self.key = secrets.token_urlsafe(_SECRET_BYTES)
        self._is_used = False

    def redeem(self, key: str) -> bool:
        """Return whether `key` is correct and unused. A correct key is marked as used."""
        if self._is_used or not are_equal_secrets(key, self.key):
            return False
        self._is_used = True
        return True


def new_cookie() -> str:
    """Return a random cookie for a web UI without sign-in."""
    return secrets.token_urlsafe(_SECRET_BYTES)


def csrf_token(cookie: str) -> str:
    """Return the CSRF token of a cookie."""
    return hmac.digest(cookie.encode("utf-8", "surrogateescape"), b"csrf", "sha256").hex()


def are_equal_secrets(given: str, expected: str) -> bool:
    """Whether two secrets are equal, compared in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())
