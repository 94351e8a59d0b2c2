"""Verifies bearer tokens for the SDK: Deltos tokens and tokens from an OAuth issuer."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import jwt

from deltos.errors import DeltosError
from deltos.fetch.configured_endpoint import ask
from deltos.server.access import TOKEN_PREFIX, Level
from deltos.server.http.callers import VerifiedToken

if TYPE_CHECKING:
    from deltos.server.access import Tokens
    from deltos.server.http.options import OAuthSettings

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
KEY_FETCH_TIMEOUT_SECONDS = 10
_LEEWAY_SECONDS = 30  # allowed difference between the issuer's clock and the local clock
_MAX_CONCURRENT_CHECKS = 8
# Pause after a failed request to the issuer. Without a pause, invalid tokens would occupy every thread.
_RETRY_DELAY_SECONDS = 5.0


class Verifier:
    """Verifier of Deltos tokens and, if an OAuth issuer is configured, of OAuth access tokens."""

    def __init__(self, tokens: Tokens, oauth_tokens: OAuthTokens | None) -> None:
        self._tokens = tokens
        self._oauth = oauth_tokens
        # OAuth tokens use separate threads, so that a slow issuer does not delay the check of other tokens.
        self._own_limiter = anyio.CapacityLimiter(_MAX_CONCURRENT_CHECKS)
        self._oauth_limiter = anyio.CapacityLimiter(_MAX_CONCURRENT_CHECKS)

    async def verify_token(self, token: str) -> VerifiedToken | None:
        """Return the verified token, or None if it is not valid."""
        if token.startswith(f"{TOKEN_PREFIX}_"):
            return await anyio.to_thread.run_sync(self._verify_deltos_token, token, limiter=self._own_limiter)
        if self._oauth is None:
            return None
        return await anyio.to_thread.run_sync(self._oauth.verify, token, limiter=self._oauth_limiter)

    def _verify_deltos_token(self, token: str) -> VerifiedToken | None:
        grant = self._tokens.verify(token)
        if grant is None:
            return None
        return VerifiedToken(
            token="",  # required by the SDK, but not used after verification
            client_id=grant.token_id,
            scopes=scopes_of(grant.level),
            expires_at=grant.expires_at,
            level=grant.level,
            projects=grant.projects,
            missing_workspaces=grant.missing_workspaces,
        )


class OAuthTokens:
    """Verifier of the access tokens (JWTs) that an OAuth issuer created for this server."""

    def __init__(self, settings: OAuthSettings) -> None:
        self._settings = settings
        self._keys = _IssuerKeys(settings.jwks_url, cache_keys=True)

    def verify(self, token: str) -> VerifiedToken | None:
        """Return the verified token, or None if it is not valid or the issuer's keys are not available."""
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
        return _token_from_claims(claims)


class _IssuerKeys(jwt.PyJWKClient):
    """The issuer's signing keys, fetched with the network rules for configured URLs."""

    _retry_at = 0.0

    def fetch_data(self) -> Any:
        """Fetch the current key set."""
        if time.monotonic() < self._retry_at:
            raise jwt.PyJWKClientConnectionError("a recent request to the issuer failed")
        try:
            keys = json.loads(ask(self.uri, None, {"Accept": "application/json"}, KEY_FETCH_TIMEOUT_SECONDS))
        except (DeltosError, ValueError, RecursionError) as exc:
            self._retry_at = time.monotonic() + _RETRY_DELAY_SECONDS
            raise jwt.PyJWKClientConnectionError(f"Cannot fetch the keys at {self.uri} ({exc})") from exc
        # For an unknown key, PyJWT fetches the keys again only after a pause since the last successful fetch.
        self._last_successful_fetch = time.monotonic()
        return keys


def scopes_of(level: Level) -> list[str]:
    """Return the scopes included in an access level."""
    return [other.scope for other in Level if other <= level]


def _token_from_claims(claims: dict[str, Any]) -> VerifiedToken | None:
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
