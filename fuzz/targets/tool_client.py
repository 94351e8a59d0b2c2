"""A client that calls tools directly, without a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.progress import Silent
from deltos.shown_excerpts import ShownExcerpts
from deltos.tool import Answer, Call, check_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from deltos.tool import Tool


class ToolClient:
    """Calls some tools within one session."""

    def __init__(self, tools: Iterable[Tool], root: Path) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self._root = root
        self.excerpts = ShownExcerpts()

    def project_root(self) -> Path:
        """Return the root of the session's project."""
        return self._root

    def set_project_root(self, root: Path) -> None:
        """Do nothing: the project of the session is fixed."""

    def project_roots(self) -> tuple[Path, ...]:
        """Return a list that contains only the root of the project."""
        return (self._root,)

    def set_project_roots(self, roots: Sequence[Path]) -> None:
        """Do nothing: the project of the session is fixed."""

    def granted_roots(self) -> tuple[Path, ...]:
        """Return the root of the project as the only granted folder."""
        return (self._root,)

    def call(self, name: str, /, **arguments: Any) -> Answer:
        """Call a tool and return its answer."""
        tool = self.tools[name]
        return tool.run(Call(check_arguments(tool.parameters, arguments), self, Silent(), repeat=True))
