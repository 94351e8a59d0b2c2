"""Allowlist of private hosts and networks."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from deltos.errors import BadArgument

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

HOW_TO_ALLOW = "allow it: DELTOS_ALLOW_PRIVATE_HOSTS=wiki.corp,10.1.0.0/16 or --allow-private-hosts wiki.corp"
_SYNTAX_HINT = (
    "Pass a list of host names and networks, such as DELTOS_ALLOW_PRIVATE_HOSTS=wiki.corp,10.1.0.0/16, or unset it."
)
# Minimum prefix length by IP version. Networks larger than 10.0.0.0/8 and fc00::/7 contain public addresses.
_MIN_PREFIX_BITS = {4: 8, 6: 7}
_SWITCH_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "all", "any", "none"})
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")


@dataclass(frozen=True, slots=True)
class PrivateHosts:
    """Allowed host names (with any IP address) and allowed networks."""

    names: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    @classmethod
    def parse(cls, text: str) -> PrivateHosts:
        """Parse a comma-separated list of host names, addresses and networks."""
        names: set[str] = set()
        networks: list[Network] = []
        for word in filter(None, (part.strip() for part in text.split(","))):
            network = _parse_network(word)
            if network:
                networks.append(network)
            else:
                names.add(_parse_host_name(word))
        return cls(frozenset(names), tuple(networks))

    def has_name(self, host: str) -> bool:
        """Whether the host name is allowed."""
        return canonical_name(host) in self.names

    def has_address(self, address: Address) -> bool:
        """Whether the address is in an allowed network."""
        return any(address.version == network.version and address in network for network in self.networks)

    def with_name(self, host: str) -> PrivateHosts:
        """Return a copy that also allows `host`."""
        return PrivateHosts(self.names | {canonical_name(host)}, self.networks)

    def __str__(self) -> str:
        return ",".join((*sorted(self.names), *map(str, self.networks)))


def canonical_name(host: str) -> str:
    """Normalise a host name to lower-case ASCII without a final dot."""
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return ""
    return host.lower().rstrip(".")


def _parse_network(word: str) -> Network | None:
    try:
        network = ipaddress.ip_network(word.strip("[]"), strict=False)
    except ValueError:
        return None
    if network.prefixlen < _MIN_PREFIX_BITS[network.version]:
        raise BadArgument(f"'{word}' contains public addresses", hint=_SYNTAX_HINT)
    return network


def _parse_host_name(word: str) -> str:
    """Return a normalised host name. Refuse switches such as `on`, patterns, ports and paths."""
    name = canonical_name(word)
    last_label = name.rpartition(".")[2]
    # Resolvers parse a name whose last label is a number as an IP address.
    is_number = last_label.isdigit() or last_label.startswith("0x")
    if not name or name in _SWITCH_WORDS or is_number or set(name) - _NAME_CHARACTERS:
        raise BadArgument(f"'{word}' is not a host name or network", hint=_SYNTAX_HINT)
    return name


NO_PRIVATE_HOSTS = PrivateHosts()
