"""The caller of a tool, with the conversation, access level and accessible folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.errors import Forbidden
from deltos.server.access import Level

if TYPE_CHECKING:
    from deltos.confinement import Confinement
    from deltos.server.conversation import Conversation


@dataclass(frozen=True, slots=True)
class Caller:
    """The client that makes a request, and the permissions of this client. A stdio client has all permissions."""

    conversation: Conversation
    level: Level = Level.ADMIN
    confinement: Confinement | None = None
    client: str = ""  # name of the client program (`clientInfo.name`)
    name: str = ""  # identifier of the caller; empty over stdio, where there is only one caller
    denial_reason: str = ""  # why the caller has no access to any folder; empty if it has access

    def check_access(self) -> None:
        """Raise Forbidden if the caller has no access to any folder."""
        if self.denial_reason:
            raise Forbidden(self.denial_reason, hint="Ask the administrator of this server for another token.")
