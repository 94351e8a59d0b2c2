"""The caller of a tool: its conversation, what it may do, and what it may reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
