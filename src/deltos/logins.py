"""Credentials for pages and repositories behind a login.

A credential is a set of headers for one site, from a DELTOS_AUTH_* variable or a netrc file. The values are sent only
to this site and never printed.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deltos.errors import BadArgument

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VARIABLE_PREFIX = "DELTOS_AUTH_"
NETRC = "netrc"
HOW_TO_LOG_IN = (
    f"For pages behind a login set {VARIABLE_PREFIX}NAME='HOST Header: value' "
    f"and add the source with auth={VARIABLE_PREFIX}NAME."
)
HIDDEN = "[hidden]"
_MIN_SECRET_CHARACTERS = 6  # minimum length of a hidden value; shorter values occur in ordinary words
_MIN_RANDOM_CHARACTERS = 16  # minimum length of a value that is rarely an ordinary word
_SECRET_NAMES = ("auth", "cookie", "credential", "key", "pass", "secret", "sess", "token")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_TOKEN_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~")
_FORBIDDEN_HEADERS = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "te", "upgrade", "proxy-authorization")
)


@dataclass(frozen=True, slots=True)
class Login:
    """HTTP headers for one site (scheme, host and port)."""

    site: tuple[str, str, int]
    headers: tuple[tuple[str, str], ...] = field(repr=False)

    def headers_for(self, url: str) -> dict[str, str]:
        """Return the headers for `url`, which are empty if it belongs to another site."""
        return dict(self.headers) if site_of(url) == self.site else {}

    def hide(self, text: str) -> str:
        """Replace the secrets of the login in a text. Servers may echo request headers."""
        for secret in self._secrets():
            text = text.replace(secret, HIDDEN)
        return text

    def hide_bytes(self, data: bytes) -> bytes:
        """Replace the secrets of the login in the bytes of a page."""
        for secret in self._secrets():
            data = data.replace(secret.encode("latin-1"), HIDDEN.encode())
        return data

    def _secrets(self) -> list[str]:
        found = {piece for name, value in self.headers for piece in _find_secrets(name, value)}
        found = {piece for piece in found if len(piece) >= _MIN_SECRET_CHARACTERS}
        return sorted(found, key=len, reverse=True)


@dataclass(frozen=True, slots=True)
class Logins:
    """All configured credentials. `variables` are the DELTOS_AUTH_* environment variables."""

    variables: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    netrc_file: str = ""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Logins:
        """Read the variables. Their values are parsed on first use."""
        variables = tuple((name, value) for name, value in environ.items() if name.startswith(VARIABLE_PREFIX))
        return cls(variables, environ.get("DELTOS_NETRC", ""))

    def find(self, name: str, url: str) -> Login | None:
        """Return the login called `name`, which must be for the site of `url`, or None if `name` is empty."""
        if not name:
            return None
        login = self._from_netrc(url) if name == NETRC else self._from_variable(name)
        if login.site != site_of(url):
            raise BadArgument(
                f"{name} is not for {urlsplit(url).hostname}",
                hint="Its value must begin with this host, or with http:// and the host if the site has no TLS.",
            )
        return login

    def _from_variable(self, name: str) -> Login:
        if not name.startswith(VARIABLE_PREFIX):
            raise BadArgument(
                f"auth must be {NETRC} or a variable that begins with {VARIABLE_PREFIX}", hint=HOW_TO_LOG_IN
            )
        value = dict(self.variables).get(name, "")
        if not value.strip():
            raise BadArgument(f"{name[:100]} is not set in the environment of Deltos", hint=HOW_TO_LOG_IN)
        host, _, rest = value.strip().partition(" ")
        site = site_of(host if "://" in host else f"https://{host}")
        headers = tuple(_parse_headers(name, rest))
        if not site[1] or not headers:
            raise _invalid_value_error(name)
        return Login(site, headers)

    def _from_netrc(self, url: str) -> Login:
        import netrc  # deferred import: rarely used

        if not self.netrc_file:
            raise BadArgument("No netrc file is configured", hint="Set DELTOS_NETRC in the environment of Deltos.")
        scheme, host, port = site_of(url)
        try:
            hosts = netrc.netrc(self.netrc_file).hosts
        except (OSError, netrc.NetrcParseError, UnicodeError):
            raise BadArgument("Cannot read the file of DELTOS_NETRC", hint="Check its path and syntax.") from None
        # The netrc `default` entry is not used, because it would send a password to any host.
        entry = hosts.get(host) if host != "default" else None
        if entry is None or scheme != "https":  # netrc has no schemes, and passwords are sent only over TLS
            raise BadArgument(f"The netrc file has no entry for {host}, or the URL is not https", hint=HOW_TO_LOG_IN)
        user, _, password = entry
        basic = base64.b64encode(f"{user}:{password or ''}".encode()).decode()
        return Login((scheme, host, port), (("Authorization", f"Basic {basic}"),))


def site_of(url: str) -> tuple[str, str, int]:
    """Return the scheme, host and port of a URL. The host of a malformed URL is empty."""
    try:
        parts = urlsplit(url)
        scheme = parts.scheme.lower()
        return scheme, (parts.hostname or "").rstrip("."), parts.port or _DEFAULT_PORTS.get(scheme, 0)
    except ValueError:
        return "", "", 0


def _parse_headers(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Parse the headers in the value of the variable `name`, one per line."""
    for line in filter(None, (line.strip() for line in text.split("\n"))):
        header, colon, value = line.partition(":")
        value = value.strip()
        is_header = (
            colon
            and header
            and _TOKEN_CHARACTERS.issuperset(header.lower())
            and header.lower() not in _FORBIDDEN_HEADERS
        )
        if not is_header or not value or not all(" " <= character <= "~" for character in value):
            raise _invalid_value_error(name)
        yield header, value


def _invalid_value_error(name: str) -> BadArgument:
    """Return the error for an invalid variable. The message does not contain the value."""
    return BadArgument(f"The value of {name} is invalid", hint="Write it as 'HOST Header: value', one header per line.")


def _find_secrets(name: str, value: str) -> Iterator[str]:
    """Yield the secrets in a header: values with secret names, passwords, and random values."""
    scheme, _, token = value.partition(" ")
    token = token.strip()
    if _is_secret(name, value):
        yield value
    if name.lower() == "authorization" or _is_secret("", token):
        yield token
    if scheme.lower() == "basic":
        try:
            decoded = base64.b64decode(token, validate=True).decode("latin-1")
        except (binascii.Error, ValueError):
            return
        yield decoded
        yield decoded.partition(":")[2]
    for part in value.split(";"):
        key, equals, held = (word.strip() for word in part.partition("="))
        if _is_secret(key, held) if equals else _is_secret("", key):
            yield held or key


def _is_secret(name: str, value: str) -> bool:
    """Whether the name or the format of a value suggests that it is a secret."""
    named = name.lower()
    if any(word in named for word in _SECRET_NAMES):
        return True
    return len(value) >= _MIN_RANDOM_CHARACTERS or any(character.isdigit() for character in value)


NO_LOGINS = Logins()
