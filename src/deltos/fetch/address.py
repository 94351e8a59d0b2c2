"""Which network addresses may be asked: public ones, unless the user allows private networks."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from deltos.errors import AddressRefused, FetchFailed

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_TRANSLATION_PREFIX = ipaddress.ip_network("64:ff9b::/96")  # NAT64: an IPv4 address in IPv6 clothes


def checked_addresses(host: str, port: int, *, allow_private: bool) -> list[str]:
    """The addresses of `host` that may be connected to, in the resolver's order; refuses when none may."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as exc:
        raise FetchFailed(
            f"Cannot find the host '{host}'", hint="Check the address and the network.", retryable=True
        ) from exc
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    allowed = [address for address in addresses if allow_private or is_public(address)]
    if not allowed:
        raise AddressRefused(
            f"'{host}' is on a private network or this machine, which is not asked by default",
            hint="If you trust it, set DELTOS_ALLOW_PRIVATE_HOSTS=1 or pass --allow-private-hosts.",
        )
    return allowed


def require_web_address(url: str) -> None:
    """Refuse what is not a well-formed http or https address."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as exc:
        raise AddressRefused(
            f"Malformed address: {url}", hint="Give a full address such as https://example.com/docs/."
        ) from exc
    if parts.scheme not in ("http", "https"):
        raise AddressRefused(f"Only http and https addresses are fetched, not '{parts.scheme}:'")
    if not host or any(character.isspace() for character in url):
        raise AddressRefused(f"Malformed address: {url}", hint="Give a full address such as https://example.com/docs/.")


def is_public(text: str) -> bool:
    """Whether an address belongs to the public internet, also when it wraps another address."""
    address = ipaddress.ip_address(text.split("%")[0])
    return all(part.is_global and not part.is_multicast for part in (address, *_wrapped(address)))


def _wrapped(address: Address) -> list[Address]:
    if not isinstance(address, ipaddress.IPv6Address):
        return []
    inner: list[Address | None] = [address.ipv4_mapped, address.sixtofour]
    if address.teredo:
        inner += address.teredo
    if address in _TRANSLATION_PREFIX:
        inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return [part for part in inner if part is not None]
