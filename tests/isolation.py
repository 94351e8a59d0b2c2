"""Restrict tests to temporary folders: no test writes into the user's data folder, home folder or the checkout."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

# Every platform derives its folders for data, configuration and caches from the home folder.
_HOME_VARIABLES = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA")
_XDG_VARIABLES = ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")
_WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Audit events that change the file system, with the position of the paths in their arguments; folder descriptors follow.
_CHANGED_PATHS: dict[str, tuple[int, ...]] = {
    "os.mkdir": (0,),
    "os.remove": (0,),
    "os.rmdir": (0,),
    "os.rename": (0, 1),
    "os.link": (1,),
    "os.symlink": (1,),
}
# Caches written by Python and the test tools.
_CACHES = ("__pycache__", ".pytest_cache", ".hypothesis", ".coverage", ".mypy_cache", ".ruff_cache")


class WroteOutsideTemporaryFolder(AssertionError):
    """A test changed a file outside temporary folders."""


@contextmanager
def isolated_home() -> Iterator[Path]:
    """Set an empty home folder for the tests and all processes that they start."""
    with tempfile.TemporaryDirectory(prefix="deltos-tests-home-", ignore_cleanup_errors=True) as folder:
        before = {name: os.environ.get(name) for name in (*_HOME_VARIABLES, *_XDG_VARIABLES, "DELTOS_HOME")}
        for name in _HOME_VARIABLES:
            os.environ[name] = folder
        for name in (*_XDG_VARIABLES, "DELTOS_HOME"):
            os.environ.pop(name, None)
        try:
            yield Path(folder)
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


class WriteGuard:
    """Audit hook that fails the running test when it changes a file outside the allowed folders.

    Child processes are not checked; `isolated_home` sets their default folders to a temporary one.
    """

    def __init__(self) -> None:
        allowed = (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev", "/proc")
        self._allowed = tuple({os.path.realpath(path) for path in allowed})
        # A checkout may itself be in a temporary folder.
        self._checkout = str(Path(__file__).resolve().parents[1]) + os.sep
        self.is_on = False

    def install(self) -> None:
        """Add the hook; an interpreter cannot remove hooks, so `is_on` disables it."""
        sys.addaudithook(self._check)

    def _check(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on:
            return
        if event == "open":
            path, mode, flags = arguments
            is_write = any(letter in mode for letter in "wax+") if mode else bool(flags and flags & _WRITING_FLAGS)
            if is_write:
                self._refuse_outside(path)
        elif event in _CHANGED_PATHS:
            positions = _CHANGED_PATHS[event]
            descriptors = [value for value in arguments[positions[-1] + 1 :] if isinstance(value, int)]
            if event == "os.mkdir":
                descriptors = descriptors[1:]  # the mode precedes the path in the arguments
            if all(descriptor < 0 for descriptor in descriptors):
                for position in positions:
                    self._refuse_outside(arguments[position])

    def _refuse_outside(self, path: object) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return  # the path is an open descriptor
        name = os.fsdecode(path)
        if "/" not in name:
            return  # may be relative to a folder descriptor, which `open` events do not report
        real = os.path.realpath(name)
        is_allowed = real.startswith(self._allowed) and not real.startswith(self._checkout)
        if not is_allowed and not any(cache in real for cache in _CACHES):
            raise WroteOutsideTemporaryFolder(f"A test changed {real}, outside its temporary folder.")
