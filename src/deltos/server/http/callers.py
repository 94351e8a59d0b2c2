"""Who sends a request, for all that is shared out between callers: a token, or without one an address."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser

if TYPE_CHECKING:
    from starlette.types import Scope

_IPV6_SITE_BITS = 64  # one host has as many addresses as it likes within such a network


def caller_of(scope: Scope) -> str:
    """The caller behind a request."""
    user = scope.get("user")
    if isinstance(user, AuthenticatedUser):
        token = user.access_token
        return f"token {token.client_id} {token.subject or ''}"
    client = scope.get("client")
    return f"address {_site(client[0])}" if client else ""


def _site(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address.split("%")[0])
    except ValueError:  # a Unix socket has none
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, _IPV6_SITE_BITS), strict=False))
