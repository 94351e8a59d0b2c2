"""State of one client's conversation: its folders, the excerpts it was shown, and its log level."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from deltos.shown_excerpts import ShownExcerpts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import anyio

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_LOG_LEVEL = "debug"
_DRIVE = re.compile(r"/[A-Za-z]:")


class Conversation:
    """The session that tools see. Its projects are those chosen by a call, else the client's roots, else the start
    folder."""

    def __init__(self, start: Path) -> None:
        self._start = start
        self._roots: tuple[Path, ...] = ()
        self._chosen: tuple[Path, ...] = ()
        self.excerpts = ShownExcerpts()
        self.log_level = _LOG_LEVEL
        self.roots_settled: anyio.Event | None = None

    def project_root(self) -> Path:
        """Return the default project folder of calls that name none."""
        return self.project_roots()[0]

    def set_project_root(self, root: Path) -> None:
        """Make `root` the default project folder."""
        self._chosen = (root,)

    def project_roots(self) -> tuple[Path, ...]:
        """Return the default project folders of calls that accept several projects."""
        return self._chosen or self._roots or (self._start,)

    def set_project_roots(self, roots: Sequence[Path]) -> None:
        """Make `roots`, at least one folder, the default project folders."""
        self._chosen = tuple(roots)

    def granted_roots(self) -> tuple[Path, ...]:
        """Return the start folder and the client's roots, which calls cannot change."""
        return (self._start, *self._roots)

    def set_client_roots(self, uris: Iterable[str]) -> None:
        """Replace the client's roots by the `uris` that are local folders; the first one is the default project."""
        folders = (Path(path) for uri in uris if (path := path_of_uri(uri)))
        self._roots = tuple(dict.fromkeys(folder for folder in folders if folder.is_dir()))

    def state(self) -> str:
        """Return the state that another server needs to continue the conversation; empty for the initial state."""
        chosen = [str(folder) for folder in self._chosen]
        if not chosen and self.log_level == _LOG_LEVEL:
            return ""
        return json.dumps({"folders": chosen, "log_level": self.log_level})

    def restore(self, state: str) -> None:
        """Replace the state by one that `state()` returned, here or on another server."""
        kept = json.loads(state) if state else {}
        self._chosen = tuple(Path(folder) for folder in kept.get("folders", ()))
        self.log_level = kept.get("log_level", _LOG_LEVEL)

    def hears(self, level: str) -> bool:
        """Whether the client wants log messages of `level`."""
        return LOG_LEVELS.index(level) >= LOG_LEVELS.index(self.log_level)


def path_of_uri(uri: str, *, windows: bool = sys.platform == "win32") -> str:
    """Return the local path of a `file:` URI; empty if there is none."""
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
