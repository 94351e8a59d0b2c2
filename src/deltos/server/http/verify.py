"""Verifies bearer tokens in the form that the SDK asks for: our own, and those of an OAuth issuer."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import jwt

from deltos.errors import DeltosError
from deltos.fetch.configured import ask
from deltos.server.access import TOKEN_PREFIX, Level
from deltos.server.http.conversations import VerifiedToken

if TYPE_CHECKING:
    from deltos.server.access import Tokens
    from deltos.server.http.options import OAuthSettings

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
KEYS_TIMEOUT_SECONDS = 10
_LEEWAY_SECONDS = 30  # the issuer's clock may differ from ours
_CHECKS_AT_ONCE = 8
# After a failure the issuer is not asked for this long: made-up tokens must not occupy every thread.
_QUIET_SECONDS = 5.0


class Verifier:
    """Accepts our own tokens and, where an issuer is configured, its access tokens."""

    def __init__(self, tokens: Tokens, issued: IssuedTokens | None) -> None:
        self._tokens = tokens
        self._issued = issued
        # In threads of their own: an issuer that is slow to answer delays no other request.
        self._own_limiter = anyio.CapacityLimiter(_CHECKS_AT_ONCE)
        self._issued_limiter = anyio.CapacityLimiter(_CHECKS_AT_ONCE)

    async def verify_token(self, token: str) -> VerifiedToken | None:
        """What a bearer token stands for; None when it is not valid."""
        if token.startswith(f"{TOKEN_PREFIX}_"):
            return await anyio.to_thread.run_sync(self._verify_own, token, limiter=self._own_limiter)
        if self._issued is None:
            return None
        return await anyio.to_thread.run_sync(self._issued.verify, token, limiter=self._issued_limiter)

    def _verify_own(self, token: str) -> VerifiedToken | None:
        grant = self._tokens.verify(token)
        if grant is None:
            return None
        return VerifiedToken(
            token="",  # not kept: nothing needs it from here on
            client_id=grant.token_id,
            scopes=scopes_of(grant.level),
            expires_at=grant.expires_at,
            level=grant.level,
            projects=grant.projects,
            gone=grant.gone,
        )


class IssuedTokens:
    """Access tokens (JWT) of an OAuth issuer, meant for this server."""

    def __init__(self, settings: OAuthSettings) -> None:
        self._settings = settings
        self._keys = _Keys(settings.jwks_url, cache_keys=True)

    def verify(self, token: str) -> VerifiedToken | None:
        """What a token stands for; None when it is not valid or its keys cannot be had."""
        try:
            key = self._keys.get_signing_key_from_jwt(token)
            claims = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self._settings.resource,
                issuer=self._settings.issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            return None
        return _verified(claims)


class _Keys(jwt.PyJWKClient):
    """The issuer's keys, fetched under our own rules for configured addresses."""

    _quiet_until = 0.0

    def fetch_data(self) -> Any:
        """The key set as the issuer has it now."""
        if time.monotonic() < self._quiet_until:
            raise jwt.PyJWKClientConnectionError("the issuer did not answer a moment ago")
        try:
            keys = json.loads(ask(self.uri, None, {"Accept": "application/json"}, KEYS_TIMEOUT_SECONDS))
        except (DeltosError, ValueError, RecursionError) as exc:
            self._quiet_until = time.monotonic() + _QUIET_SECONDS
            raise jwt.PyJWKClientConnectionError(f"The keys at {self.uri} cannot be had ({exc})") from exc
        self._last_successful_fetch = time.monotonic()  # begins the pause before an unknown key is asked for again
        return keys


def scopes_of(level: Level) -> list[str]:
    """The scopes that a level stands for."""
    return [other.scope for other in Level if other <= level]


def _verified(claims: dict[str, Any]) -> VerifiedToken | None:
    words = claims.get("scope") or claims.get("scp") or ()
    given = set(words.split() if isinstance(words, str) else map(str, words) if isinstance(words, list) else ())
    levels = [level for level in Level if {level.scope, f"deltos:{level.scope}"} & given]
    if not levels:
        return None
    subject = str(claims.get("sub") or "")
    return VerifiedToken(
        token="",
        client_id=str(claims.get("client_id") or claims.get("azp") or subject or "oauth"),
        subject=subject or None,
        scopes=scopes_of(max(levels)),
        expires_at=int(claims["exp"]),
        claims={"iss": claims["iss"]},
        level=max(levels),
    )
