"""What a person configured for pages and repositories behind a login: headers for one host each, from variables that
begin with DELTOS_AUTH_ or from a netrc file. Values are sent to that host alone and shown to nobody."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deltos.errors import BadArgument

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PREFIX = "DELTOS_AUTH_"
NETRC = "netrc"
HOW_TO_LOG_IN = (
    f"For pages behind a login set {PREFIX}NAME='HOST Header: value' and add the source with auth={PREFIX}NAME."
)
HIDDEN = "[hidden]"
_SHORTEST_SECRET = 6  # a shorter piece would be hidden in ordinary words
_LONGER_THAN_WORDS = 16  # so long, or with a digit, a value is hardly a word that pages use
_SECRET_NAMES = ("auth", "cookie", "credential", "key", "pass", "secret", "sess", "token")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_TOKEN_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~")
_NOT_OURS = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "te", "upgrade", "proxy-authorization")
)


@dataclass(frozen=True, slots=True)
class Login:
    """Headers for one scheme, host and port."""

    site: tuple[str, str, int]
    headers: tuple[tuple[str, str], ...] = field(repr=False)

    def headers_for(self, url: str) -> dict[str, str]:
        """What is sent along to `url`: nothing unless it is the very site."""
        return dict(self.headers) if site_of(url) == self.site else {}

    def hide(self, text: str) -> str:
        """The text without any of the secrets: servers repeat what they are told."""
        for secret in self._secrets():
            text = text.replace(secret, HIDDEN)
        return text

    def hide_bytes(self, data: bytes) -> bytes:
        """The same for a page as it came."""
        for secret in self._secrets():
            data = data.replace(secret.encode("latin-1"), HIDDEN.encode())
        return data

    def _secrets(self) -> list[str]:
        found = {piece for name, value in self.headers for piece in _pieces(name, value)}
        found = {piece for piece in found if len(piece) >= _SHORTEST_SECRET}
        return sorted(found, key=len, reverse=True)


@dataclass(frozen=True, slots=True)
class Logins:
    """All that was configured; `variables` are those whose names begin with the prefix."""

    variables: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    netrc_file: str = ""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Logins:
        """What the variables say; nothing is read or checked before it is needed."""
        variables = tuple((name, value) for name, value in environ.items() if name.startswith(PREFIX))
        return cls(variables, environ.get("DELTOS_NETRC", ""))

    def find(self, name: str, url: str) -> Login | None:
        """The login that a source names, which must be one for the host of `url`; None when it names none."""
        if not name:
            return None
        login = self._from_netrc(url) if name == NETRC else self._from_variable(name)
        if login.site != site_of(url):
            raise BadArgument(
                f"{name} is not for {urlsplit(url).hostname}",
                hint="Its value begins with the host that it is for; http:// must be written out.",
            )
        return login

    def _from_variable(self, name: str) -> Login:
        if not name.startswith(PREFIX):
            raise BadArgument(f"auth names a variable that begins with {PREFIX}, or {NETRC}", hint=HOW_TO_LOG_IN)
        value = dict(self.variables).get(name, "")
        if not value.strip():
            raise BadArgument(f"{name[:100]} is not set where Deltos runs", hint=HOW_TO_LOG_IN)
        place, _, rest = value.strip().partition(" ")
        site = site_of(place if "://" in place else f"https://{place}")
        headers = tuple(_parsed(name, rest))
        if not site[1] or not headers:
            raise _not_understood(name)
        return Login(site, headers)

    def _from_netrc(self, url: str) -> Login:
        import netrc  # deferred: few have one

        if not self.netrc_file:
            raise BadArgument("No netrc file is configured", hint="Set DELTOS_NETRC to its path where Deltos runs.")
        scheme, host, port = site_of(url)
        try:
            hosts = netrc.netrc(self.netrc_file).hosts
        except (OSError, netrc.NetrcParseError, UnicodeError):
            raise BadArgument("The file of DELTOS_NETRC cannot be read", hint="Check its path and form.") from None
        # `default` is for hosts that a person types: here an agent or a page may name any.
        entry = hosts.get(host) if host != "default" else None
        if entry is None or scheme != "https":  # it says nothing of ports or schemes: a password goes by TLS alone
            raise BadArgument(f"The netrc file has nothing for {host} by https", hint=HOW_TO_LOG_IN)
        user, _, password = entry
        basic = base64.b64encode(f"{user}:{password or ''}".encode()).decode()
        return Login((scheme, host, port), (("Authorization", f"Basic {basic}"),))


def site_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of an address; an empty host when it is malformed."""
    try:
        parts = urlsplit(url)
        scheme = parts.scheme.lower()
        return scheme, (parts.hostname or "").rstrip("."), parts.port or _DEFAULT_PORTS.get(scheme, 0)
    except ValueError:
        return "", "", 0


def _parsed(name: str, text: str) -> Iterator[tuple[str, str]]:
    """The headers in the lines of a variable."""
    for line in filter(None, (line.strip() for line in text.split("\n"))):
        header, colon, value = line.partition(":")
        value = value.strip()
        is_header = (
            colon and header and _TOKEN_CHARACTERS.issuperset(header.lower()) and header.lower() not in _NOT_OURS
        )
        if not is_header or not value or not all(" " <= character <= "~" for character in value):
            raise _not_understood(name)
        yield header, value


def _not_understood(name: str) -> BadArgument:
    """Says what is expected and never what is there."""
    return BadArgument(
        f"The value of {name} is not understood", hint="Write it as 'HOST Header: value', one header a line."
    )


def _pieces(name: str, value: str) -> Iterator[str]:
    """All that is secret in a header: the value of one that is named so, a password, and what is no ordinary word."""
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
    """Whether a value must not be shown, by the name that it has or by its look: `lang=english` is no secret."""
    named = name.lower()
    if any(word in named for word in _SECRET_NAMES):
        return True
    return len(value) >= _LONGER_THAN_WORDS or any(character.isdigit() for character in value)


NO_LOGINS = Logins()
