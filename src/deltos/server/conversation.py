"""State of a client's conversation: project folders, excerpts already sent, and log level."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from deltos.errors import BadArgument
from deltos.shown_excerpts import ShownExcerpts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import anyio

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_DRIVE = re.compile(r"/[A-Za-z]:")


class Conversation:
    """State of a client's session that tools read and change.

    The default projects are the folders passed to `set_project_roots`. If there are none, they are the client's roots
    (the folders that the client lists in MCP), or else the start folder. A conversation that is not persistent serves a
    single request of a connection without sessions.
    """

    def __init__(self, start: Path, *, is_persistent: bool = True) -> None:
        self._start = start
        self._is_persistent = is_persistent
        self._roots: tuple[Path, ...] = ()
        self._chosen: tuple[Path, ...] = ()
        self.excerpts = ShownExcerpts()
        self.log_level = "debug"
        self.roots_settled: anyio.Event | None = None

    def project_root(self) -> Path:
        """Return the default project folder, for calls without a project."""
        return self.project_roots()[0]

    def set_project_root(self, root: Path) -> None:
        """Make `root` the default project folder."""
        self.set_project_roots((root,))

    def project_roots(self) -> tuple[Path, ...]:
        """Return the default project folders, for calls that accept several projects."""
        return self._chosen or self._roots or (self._start,)

    def set_project_roots(self, roots: Sequence[Path]) -> None:
        """Make `roots` the default project folders. At least one folder is required."""
        if not self._is_persistent:
            raise BadArgument(
                "This connection has no session, so it cannot store a working directory",
                hint="Pass the project in each call: project_path accepts a folder, a project name or a workspace.",
            )
        self._chosen = tuple(roots)

    def granted_roots(self) -> tuple[Path, ...]:
        """Return the start folder and the client's roots, which calls cannot change."""
        return (self._start, *self._roots)

    def set_client_roots(self, uris: Iterable[str]) -> list[str]:
        """Replace the client's roots with the local folders among `uris`. The first folder is the default project.

        Return the URIs that are not local folders.
        """
        paths = {uri: local_path_of_uri(uri) for uri in uris}
        missing = [uri for uri, path in paths.items() if not path or not Path(path).is_dir()]
        self._roots = tuple(dict.fromkeys(Path(path) for uri, path in paths.items() if uri not in missing))
        return missing

    def wants_log_level(self, level: str) -> bool:
        """Whether the client wants log messages of `level`."""
        return LOG_LEVELS.index(level) >= LOG_LEVELS.index(self.log_level)


def local_path_of_uri(uri: str, *, windows: bool = sys.platform == "win32") -> str:
    """Return the local path of a `file:` URI, or an empty string for any other URI."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    path = unquote(parts.path)
    if parts.scheme != "file" or "\0" in path:
        return ""
    host = "" if parts.netloc == "localhost" else unquote(parts.netloc)
    if windows:
        path = path[1:] if _DRIVE.match(path) else path
        return f"//{host}{path}" if host else path
    return "" if host else path
