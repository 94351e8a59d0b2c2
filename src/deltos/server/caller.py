"""Who stands at the desk: a conversation, what it may do, and what it may reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.server.access import Level

if TYPE_CHECKING:
    from deltos.confinement import Confinement
    from deltos.server.conversation import Conversation


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a tool. A client on our own pipes may do everything."""

    conversation: Conversation
    level: Level = Level.ADMIN
    confinement: Confinement | None = None
    name: str = ""  # which of several callers; empty where there is only one
