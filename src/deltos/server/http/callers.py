"""Finds the caller of an HTTP request: the conversation of the session and the permissions of the token."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from deltos.confinement import Confinement
from deltos.server.access import Level
from deltos.server.caller import Caller
from deltos.server.conversation import Conversation
from deltos.server.http.caller_id import caller_id
from deltos.workspace.identity import memory_scopes

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext


_SESSION_HEADER = "mcp-session-id"
_NO_FOLDER = Path(os.devnull)  # start folder for a token without a served project


class VerifiedToken(AccessToken):
    """A verified token in the SDK's form, with the fields of a `Grant`."""

    level: Level
    projects: tuple[str, ...] | None = None
    missing_workspaces: tuple[str, ...] = ()


class RequestCallers:
    """Finds the caller of each request and stores one conversation per session."""

    def __init__(self, start: Path, roots: tuple[Path, ...]) -> None:
        self._start = start
        self._confinement = Confinement(roots)
        self._conversations: dict[int, Conversation] = {}
        self._token_confinements: dict[tuple[str, ...] | None, Confinement] = {}
        self._reader_confinements: dict[tuple[str, ...] | None, Confinement] = {}

    def find_caller(self, context: ServerRequestContext[Any, Any]) -> Caller:
        """Return the caller of a request."""
        name = caller_id(context.request.scope) if context.request else ""
        token = _token_of(context)
        level, confinement, start = self._permissions_of(token)
        conversation = self._conversation_of(context, start)
        return Caller(conversation, level, confinement, name=name, denial_reason=_denial_reason(token, confinement))

    def ui_caller(self, token: VerifiedToken | None, name: str) -> Caller:
        """Return the caller of a web UI request."""
        level, confinement, start = self._permissions_of(token)
        denial_reason = _denial_reason(token, confinement)
        conversation = Conversation(start, is_persistent=False)
        return Caller(conversation, level, confinement, client="page", name=name, denial_reason=denial_reason)

    def _permissions_of(self, token: VerifiedToken | None) -> tuple[Level, Confinement, Path]:
        """Return the access level, accessible folders and start folder of a token, or of a caller without a token."""
        if token is None:
            return Level.ADMIN, self._confinement, self._start
        confinement = self._confinement_of(token.projects)
        start = self._start if confinement.admits(self._start) else next(iter(confinement.roots), _NO_FOLDER)
        if token.level == Level.READ:
            confinement = self._reader_confinements.setdefault(
                token.projects, confinement._replace(new_projects=frozenset({*confinement.roots, start}))
            )
        return token.level, confinement, start

    def _conversation_of(self, context: ServerRequestContext[Any, Any], start: Path) -> Conversation:
        # The SDK keeps one object with the client's handshake parameters for exactly the lifetime of the session, so
        # the object's id identifies the session. Each request without a session has its own conversation.
        client = context.session.client_params
        if client is None or context.request is None or _SESSION_HEADER not in context.request.headers:
            return Conversation(start, is_persistent=False)
        key = id(client)
        if key not in self._conversations:
            self._conversations[key] = Conversation(start)
            weakref.finalize(client, self._conversations.pop, key, None)
        return self._conversations[key]

    def _confinement_of(self, projects: tuple[str, ...] | None) -> Confinement:
        if projects is None:
            return self._confinement
        if projects not in self._token_confinements:
            roots = tuple(path for path in map(Path, projects) if self._confinement.admits(path))
            self._token_confinements[projects] = Confinement(roots, memory_scopes(roots))
        return self._token_confinements[projects]


def _denial_reason(token: VerifiedToken | None, confinement: Confinement) -> str:
    """Return why a token gives no access to any folder, or an empty string if it gives access."""
    if token is None or confinement.roots:
        return ""
    if not token.projects and token.missing_workspaces:
        names = ", ".join(f"'{name}'" for name in token.missing_workspaces)
        is_one = len(token.missing_workspaces) == 1
        return f"The workspace{'' if is_one else 's'} {names} of this token no longer {'exists' if is_one else 'exist'}"
    return "This server does not serve any folder of this token"


def _token_of(context: ServerRequestContext[Any, Any]) -> VerifiedToken | None:
    user = context.request.scope.get("user") if context.request else None
    token = user.access_token if isinstance(user, AuthenticatedUser) else None
    return token if isinstance(token, VerifiedToken) else None
