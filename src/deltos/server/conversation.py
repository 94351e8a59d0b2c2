"""What one client's conversation remembers: its folder, what it was shown, and how much it wants to hear."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from deltos.excerpts import Excerpts

if TYPE_CHECKING:
    from collections.abc import Iterable

    import anyio

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_DRIVE = re.compile(r"/[A-Za-z]:")


class Conversation:
    """The session that tools see. Its folder: chosen by a call, else the client's root, else the start."""

    def __init__(self, start: Path) -> None:
        self._start = start
        self._root: Path | None = None
        self._chosen: Path | None = None
        self.excerpts = Excerpts()
        self.log_level = "debug"
        self.roots_settled: anyio.Event | None = None

    def project_root(self) -> Path:
        """The folder that calls mean when they name none."""
        return self._chosen or self._root or self._start

    def set_project_root(self, root: Path) -> None:
        """Make `root` the default from now on."""
        self._chosen = root

    def set_client_roots(self, uris: Iterable[str]) -> None:
        """Follow the client to the first of its roots that is a folder here."""
        folders = (Path(path) for uri in uris if (path := path_of_uri(uri)))
        self._root = next((folder for folder in folders if folder.is_dir()), None)

    def hears(self, level: str) -> bool:
        """Whether the client wants log messages of `level`."""
        return LOG_LEVELS.index(level) >= LOG_LEVELS.index(self.log_level)


def path_of_uri(uri: str, *, windows: bool = sys.platform == "win32") -> str:
    """The local path behind a `file:` URI; empty when there is none."""
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
