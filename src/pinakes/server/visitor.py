"""Who stands at the desk: a conversation, what it may do, and what it may reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinakes.server.access import Level

if TYPE_CHECKING:
    from pinakes.confinement import Confinement
    from pinakes.server.conversation import Conversation


@dataclass(frozen=True, slots=True)
class Visitor:
    """The caller of a tool. A client on our own pipes may do everything."""

    conversation: Conversation
    level: Level = Level.ADMIN
    confinement: Confinement | None = None
