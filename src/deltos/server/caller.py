"""The caller of a tool: its conversation, access level and accessible folders."""

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
    """Who makes a request. Over stdio the caller has all rights."""

    conversation: Conversation
    level: Level = Level.ADMIN
    confinement: Confinement | None = None
    client: str = ""  # name of the client program (`clientInfo.name`)
    name: str = ""  # identifies one of several callers; empty over stdio, where there is only one
    denial_reason: str = ""  # why the caller has no access to any folder; empty if it has

    def check(self) -> None:
        """Raise Forbidden if the caller has no access to any folder."""
        if self.denial_reason:
            raise Forbidden(self.denial_reason, hint="Ask the administrator of this server for another token.")
