"""Call tools without a server."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from deltos.config import Config
from deltos.progress import Progress, Silent
from deltos.server.toolbox import open_toolbox
from deltos.shown_excerpts import ShownExcerpts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.tool import Answer, JsonObject, Tool


class ToolClient:
    """Client with a session that stores its project and, unless `repeat` is set, the results already shown."""

    def __init__(self, tools: Iterable[Tool], root: Path, *, repeat: bool = True) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.start = self.root = root
        self.roots: tuple[Path, ...] = ()
        self.excerpts = ShownExcerpts()
        self._repeat = repeat

    def project_root(self) -> Path:
        """The session's project."""
        return self.root

    def set_project_root(self, root: Path) -> None:
        """Choose a different project."""
        self.root, self.roots = root, ()

    def project_roots(self) -> tuple[Path, ...]:
        """All folders of the session."""
        return self.roots or (self.root,)

    def set_project_roots(self, roots: Sequence[Path]) -> None:
        """Choose several projects."""
        self.root, self.roots = roots[0], tuple(roots)

    def granted_roots(self) -> tuple[Path, ...]:
        """Folders that the session may read: the folder in which it began."""
        return (self.start,)

    def call(self, name: str, /, *, progress: Progress | None = None, **arguments: Any) -> Answer:
        """Call a tool and return its answer."""
        return self.tools[name].answer(arguments, self, progress or Silent(), repeat=self._repeat)

    def data(self, name: str, /, **arguments: Any) -> JsonObject:
        """Call a tool and return the structured part of its answer."""
        structured = self.call(name, **arguments).structured
        assert structured is not None
        return structured


def complete_listings() -> list[JsonObject]:
    """Listings of all tools, including parameters that descriptions only name."""
    with TemporaryDirectory() as home:
        toolbox = open_toolbox(Config(Path(home)))
        toolbox.close()
    return [tool.listing() for tool in toolbox.tools]
