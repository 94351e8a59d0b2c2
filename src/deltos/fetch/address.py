"""Rules for the network addresses that Deltos may contact: public addresses, and allowed private addresses.

Cloud metadata addresses are always refused.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deltos.errors import AddressRefused, FetchFailed
from deltos.private_hosts import HOW_TO_ALLOW, canonical_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.private_hosts import Address, Network, PrivateHosts


def _parse_networks(text: str) -> tuple[Network, ...]:
    return tuple(map(ipaddress.ip_network, text.split()))


# Networks in the IANA special-purpose registries, listed here because `is_global` differs between Python versions.
_SPECIAL_V4 = _parse_networks(
    """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
    203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
    """
)
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
# Protocol assignments (such as Teredo and ORCHID), the 6to4 network, and two documentation networks.
_SPECIAL_V6 = _parse_networks("2001::/23 2001:db8::/32 2002::/16 3fff::/20")
# IPv4-mapped and NAT64 networks. Their addresses lead to the IPv4 address in the last 32 bits.
_IPV4_GATEWAYS = _parse_networks("::ffff:0:0/96 64:ff9b::/96")
# IPv4-compatible, SIIT and local NAT64 networks. Their addresses also have an IPv4 address in the last 32 bits.
_LOCAL_NAT64 = _parse_networks("64:ff9b:1::/48")
_IPV4_SUFFIXES = (*_IPV4_GATEWAYS, *_LOCAL_NAT64, *_parse_networks("::/96 ::ffff:0:0:0/96"))
_ISATAP_MARKS = frozenset({0x00005EFE, 0x02005EFE})

# Networks in which clouds and container platforms serve credentials, such as link-local addresses.
_METADATA = _parse_networks(
    "169.254.0.0/16 fe80::/10 fd00:ec2::/32 fd20:ce::/32 fd00:42::42/128"
    " 100.100.100.200/32 168.63.129.16/32 192.0.0.192/32"
)
_METADATA_NAMES = frozenset(
    """
    metadata.google.internal metadata.goog metadata.azure.internal metadata.tencentyun.com
    instance-data instance-data.ec2.internal api.metadata.cloud.ibm.com
    """.split()
)
_EXAMPLE_HINT = "Pass a full URL such as https://example.com/docs/."


def checked_addresses(host: str, port: int, private_hosts: PrivateHosts) -> list[str]:
    """Resolve `host` and return its addresses. Raise AddressRefused if Deltos must not contact one of the addresses."""
    refuse_metadata_name(host)
    addresses = resolve(host, port)
    check_addresses(host, addresses, private_hosts)
    return addresses


def check_addresses(host: str, addresses: Sequence[str], private_hosts: PrivateHosts) -> None:
    """Raise AddressRefused if Deltos must not contact one of the host's addresses."""
    for address in addresses:
        refuse_metadata_address(host, address)
    if private_hosts.has_name(host):
        return
    refused = [text for text in addresses if not _is_allowed(text, private_hosts)]
    if refused:
        which = "is" if len(refused) == len(addresses) else "is also"
        raise AddressRefused(
            f"'{host}' {which} on a private network or this machine; such hosts are refused by default",
            hint=f"If you trust it, {HOW_TO_ALLOW}.",
        )


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host, found with the system's resolver."""
    if "%" in host or "\0" in host:
        raise AddressRefused(f"'{host}' contains the name of a network interface", hint=_EXAMPLE_HINT)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, OverflowError) as exc:
        raise FetchFailed(
            f"Cannot resolve the host '{host}'", hint="Check the address and the network.", retryable=True
        ) from exc
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def refuse_metadata_name(host: str) -> None:
    """Raise AddressRefused for the host name of a cloud metadata service."""
    if canonical_name(host) in _METADATA_NAMES:
        raise _metadata_error(host)


def refuse_metadata_address(host: str, text: str) -> None:
    """Raise AddressRefused for a cloud metadata address, even if the user allowed it."""
    address = _parse_address(text)
    if any(_is_in_networks(part, _METADATA) for part in (address, *embedded_ipv4(address))):
        raise _metadata_error(host)


def require_web_address(url: str) -> None:
    """Raise AddressRefused unless `url` is a well-formed http or https URL."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as exc:
        raise AddressRefused(f"Malformed address: {url}", hint=_EXAMPLE_HINT) from exc
    if parts.scheme not in ("http", "https"):
        raise AddressRefused(f"Only http and https addresses are fetched, not '{parts.scheme}:'")
    if not host or "\\" in parts.netloc or any(character.isspace() or character < " " for character in url):
        raise AddressRefused(f"Malformed address: {url}", hint=_EXAMPLE_HINT)


def is_public(text: str) -> bool:
    """Whether an address, and any IPv4 address embedded in it, is on the public internet."""
    return _is_public(_parse_address(text))


def embedded_ipv4(address: Address) -> list[Address]:
    """Return the IPv4 addresses that an IPv6 address contains in any known format of gateways and tunnels."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    found: list[Address] = list(address.teredo or ())
    if address.sixtofour:
        found.append(address.sixtofour)
    if _is_in_networks(address, _IPV4_SUFFIXES) or _is_isatap(address):
        found.append(_last_32_bits(address))
    # In local NAT64 addresses, the IPv4 address is split around the eighth octet (RFC 6052).
    if _is_in_networks(address, _LOCAL_NAT64):
        octets = address.packed
        found.append(ipaddress.IPv4Address(octets[6:8] + octets[9:11]))
    return found


def _is_allowed(text: str, private_hosts: PrivateHosts) -> bool:
    address = _parse_address(text)
    if _is_public(address) or private_hosts.has_address(address):
        return True
    return private_hosts.has_address(_reachable_address(address))


def _is_public(address: Address) -> bool:
    address = _reachable_address(address)
    if isinstance(address, ipaddress.IPv4Address):
        return not _is_in_networks(address, _SPECIAL_V4) and not _is_in_networks(address, _METADATA)
    inner = _last_32_bits(address) if _is_isatap(address) else None
    return (
        address in _GLOBAL_UNICAST
        and not _is_in_networks(address, _SPECIAL_V6)
        and (inner is None or _is_public(inner))
    )


def _reachable_address(address: Address) -> Address:
    """Return the IPv4 address to which a mapped or translated address leads, or the address itself."""
    return _last_32_bits(address) if _is_in_networks(address, _IPV4_GATEWAYS) else address


def _last_32_bits(address: Address) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


def _is_isatap(address: Address) -> bool:
    """Whether the address is an ISATAP tunnel address."""
    return address.version == 6 and (int(address) >> 32) & 0xFFFFFFFF in _ISATAP_MARKS


def _is_in_networks(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def _parse_address(text: str) -> Address:
    return ipaddress.ip_address(text.split("%")[0])  # the zone after `%` selects only the network interface


def _metadata_error(host: str) -> AddressRefused:
    return AddressRefused(f"'{host}' is a cloud metadata address that serves credentials; it is always refused")
