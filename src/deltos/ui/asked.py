"""What a view was asked: its parameters, and whose page asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltos.app import App
    from deltos.tool import Session
    from deltos.workspace.project_index import ProjectIndex


@dataclass(frozen=True, slots=True)
class Asked:
    """What a view was asked: its parameters, and whose page asks."""

    app: App
    session: Session
    given: Mapping[str, str]

    def text(self, name: str) -> str:
        """A parameter; empty when it was not given."""
        return self.given.get(name, "")

    def number(self, name: str, default: int, most: int) -> int:
        """A parameter between 1 and `most`."""
        text = self.text(name)
        return max(1, min(most, int(text))) if text.isdecimal() and len(text) < 10 else default

    def index(self) -> ProjectIndex:
        """The project that is meant."""
        return self.app.domains.projects.find(self.text("project"), self.session.project_root())
