"""Identity of a caller for rate and resource limits: the token, or the network address without a token."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser

if TYPE_CHECKING:
    from starlette.types import Scope

_IPV6_SITE_BITS = 64  # one host can use every address of a /64 network


def caller_id(scope: Scope) -> str:
    """Return a string that identifies the caller of a request."""
    user = scope.get("user")
    if isinstance(user, AuthenticatedUser):
        token = user.access_token
        return f"token {token.client_id} {token.subject or ''}"
    client = scope.get("client")
    return f"address {_network_of(client[0])}" if client else ""


def _network_of(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address.split("%")[0])
    except ValueError:  # a Unix socket has no IP address
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, _IPV6_SITE_BITS), strict=False))
