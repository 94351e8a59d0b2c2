"""Session management over HTTP. Only protocol versions before 2026-07-28 have sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

if TYPE_CHECKING:
    from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
    from mcp.server.streamable_http import StreamableHTTPServerTransport

_MAX_TOKEN_SHARE = 0.75  # maximum share of all open sessions that may belong to one token


class SessionManager(StreamableHTTPSessionManager):
    """The SDK's session manager with an additional limit on the sessions of one token."""

    @property
    def session_count(self) -> int:
        """Number of open sessions."""
        return len(self._server_instances)

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        """Register and return a new session. Return None if there are too many sessions, in total or for the token."""
        own = sum(owner == requestor for owner in self._session_owners.values())
        if self.max_sessions is not None and own >= max(1, int(self.max_sessions * _MAX_TOKEN_SHARE)):
            return None
        return super()._admit_session(requestor)
