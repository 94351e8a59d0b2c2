"""The caller of a tool: its conversation, what it may do, and what it may reach."""

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
    """Whoever calls. A client on our own pipes may do everything."""

    conversation: Conversation
    level: Level = Level.ADMIN
    confinement: Confinement | None = None
    client: str = ""  # the program, as it introduced itself
    name: str = ""  # which of several callers; empty where there is only one
    nothing_left: str = ""  # why nothing at all is served to it; empty where something is

    def check(self) -> None:
        """Refuse a caller whom nothing is served to: elsewhere each call would tell of another folder that is not."""
        if self.nothing_left:
            raise Forbidden(self.nothing_left, hint="Ask whoever runs this server for another token.")
