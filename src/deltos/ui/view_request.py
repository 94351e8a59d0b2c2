"""Requests of the web page for data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltos.app import App
    from deltos.tool import Session
    from deltos.workspace.project_index import ProjectIndex


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """A request of the web page for the data of one view, with parameters and the session."""

    app: App
    session: Session
    parameters: Mapping[str, str]

    def text(self, name: str) -> str:
        """Return the parameter `name`, or an empty string if it is missing."""
        return self.parameters.get(name, "")

    def number(self, name: str, default: int, maximum: int) -> int:
        """Return the parameter `name`, clamped to the range 1 to `maximum`, or `default` if it is not a number."""
        text = self.text(name)
        return max(1, min(maximum, int(text))) if text.isdecimal() and len(text) < 10 else default

    def index(self) -> ProjectIndex:
        """Return the index of the requested project."""
        return self.app.domains.projects.find(self.text("project"), self.session.project_root())
