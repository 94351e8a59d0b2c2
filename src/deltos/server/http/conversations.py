"""Tells who an HTTP request comes from: the conversation of its session, and what its token stands for."""

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
from deltos.server.http.callers import caller_of
from deltos.server.http.sessions import SESSION_KEY, Held
from deltos.workspace.identity import memories_of

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext


_NOWHERE = Path(os.devnull)  # the project of a token whose projects are not served


class VerifiedToken(AccessToken):
    """A verified token in the SDK's form, with what it stands for in ours, as in a `Grant`."""

    level: Level
    projects: tuple[str, ...] | None = None
    gone: tuple[str, ...] = ()


class Conversations:
    """Keeps a conversation for as long as its session lives."""

    def __init__(self, start: Path, roots: tuple[Path, ...]) -> None:
        self._start = start
        self._confinement = Confinement(roots)
        self._conversations: dict[int, Conversation] = {}
        self._narrower: dict[tuple[str, ...], Confinement] = {}

    def receive(self, context: ServerRequestContext[Any, Any]) -> Caller:
        """The caller behind a request."""
        name = caller_of(context.request.scope) if context.request else ""
        token = _token_of(context)
        level, confinement, start = self._rights(token)
        conversation = self._conversation(context, start)
        return Caller(conversation, level, confinement, name=name, nothing_left=_nothing_left(token, confinement))

    def visitor(self, token: VerifiedToken | None, name: str) -> Caller:
        """Whoever opens the page for people, with a conversation of its own."""
        level, confinement, start = self._rights(token)
        nothing_left = _nothing_left(token, confinement)
        return Caller(Conversation(start), level, confinement, client="page", name=name, nothing_left=nothing_left)

    def _rights(self, token: VerifiedToken | None) -> tuple[Level, Confinement, Path]:
        """What a token, or none, may do and reach, and where it starts."""
        if token is None:
            return Level.ADMIN, self._confinement, self._start
        confinement = self._confinement_of(token.projects)
        start = self._start if confinement.admits(self._start) else next(iter(confinement.roots), _NOWHERE)
        return token.level, confinement, start

    def _conversation(self, context: ServerRequestContext[Any, Any], start: Path) -> Conversation:
        shared = context.request.scope.get(SESSION_KEY) if context.request else None
        if isinstance(shared, Held):
            return shared.conversation_from(start)
        # What the client said at its handshake is one object that lives exactly as long as its session. Requests
        # without a handshake carry it themselves, or not at all: each has a conversation of its own.
        client = context.session.client_params
        if client is None:
            return Conversation(start)
        key = id(client)
        if key not in self._conversations:
            self._conversations[key] = Conversation(start)
            weakref.finalize(client, self._conversations.pop, key, None)
        return self._conversations[key]

    def _confinement_of(self, projects: tuple[str, ...] | None) -> Confinement:
        if projects is None:
            return self._confinement
        if projects not in self._narrower:
            roots = tuple(path for path in map(Path, projects) if self._confinement.admits(path))
            self._narrower[projects] = Confinement(roots, memories_of(roots))
        return self._narrower[projects]


def _nothing_left(token: VerifiedToken | None, confinement: Confinement) -> str:
    """Why a token reaches no folder; empty where it reaches one."""
    if token is None or confinement.roots:
        return ""
    if not token.projects and token.gone:
        names = ", ".join(f"'{name}'" for name in token.gone)
        is_one = len(token.gone) == 1
        return f"The workspace{'' if is_one else 's'} {names} that this token is for {'is' if is_one else 'are'} gone"
    return "None of the folders that this token is for is served here"


def _token_of(context: ServerRequestContext[Any, Any]) -> VerifiedToken | None:
    user = context.request.scope.get("user") if context.request else None
    token = user.access_token if isinstance(user, AuthenticatedUser) else None
    return token if isinstance(token, VerifiedToken) else None
