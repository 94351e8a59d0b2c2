"""Checks `Host` and `Origin` headers, so that pages of other web sites cannot call a server on this machine."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deltos.server.http.options import host_name, is_loopback

if TYPE_CHECKING:
    from deltos.server.http.options import HttpOptions


@dataclass(frozen=True, slots=True)
class OriginPolicy:
    """The host names that a server accepts, and the origins of web pages that may call the server."""

    bind_host: str
    hosts: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def from_options(cls, options: HttpOptions) -> OriginPolicy:
        """Return the policy for a server with these options."""
        return cls(options.host, frozenset(options.allowed_hosts), frozenset(options.allowed_origins))

    def admits_host(self, header: str) -> bool:
        """Whether the `Host` header `header` refers to this server."""
        name = host_name(header)
        if not name:
            return False
        if is_loopback(name) or name == self.bind_host or header.lower() in self.hosts or name in self.hosts:
            return True
        # DNS rebinding requires a host name, so a server that listens on all addresses can accept any IP address.
        return _is_unspecified(self.bind_host) and _is_ip_address(name)

    def admits_origin(self, header: str, host: str) -> bool:
        """Whether a request to the admitted host `host` with the `Origin` header `header` is allowed.

        Requests without an origin do not come from a web page. If the origin's host is the requested host, the page
        was served by this server.
        """
        if not header or header.lower().rpartition("://")[2] == host.lower():
            return True
        try:
            parts = urlsplit(header)
            name = parts.hostname or ""
        except ValueError:
            return False
        local = parts.scheme in ("http", "https") and is_loopback(name)
        return local or header.lower().rstrip("/") in self.origins


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_unspecified(host: str) -> bool:
    return _is_ip_address(host) and ipaddress.ip_address(host).is_unspecified
