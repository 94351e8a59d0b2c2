"""Folders and files that only their owner can read, whatever the umask is; older ones are mended when met."""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_OTHERS = 0o077
_OUR_NAMES = frozenset({"projects", "locks", "clones", "toolsets", "memory-off", ".writable"})


def make_private_folder(folder: Path) -> None:
    """Make the folder with what is missing above it, or close one that others could read."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        with suppress(FileExistsError):  # another process was faster
            path.mkdir(FOLDER_MODE)
            path.chmod(FOLDER_MODE)
    if not missing:
        mend_folder(folder)


def mend_folder(folder: Path) -> None:
    """Close our files in a folder that others can read, and the folder too unless it has other uses."""
    if not is_open_to_others(folder):
        return
    with suppress(OSError):  # a read-only file system, say: `deltos doctor` tells of it
        entries = list(folder.iterdir())
        ours = [entry for entry in entries if _is_ours(entry)]
        if len(ours) == len(entries) and _may_close(folder):
            _close(folder)
        for entry in ours:
            _close(entry)
            if entry.is_dir():
                for inner in entry.iterdir():
                    _close(inner)


def is_open_to_others(path: Path) -> bool:
    """Whether other users of this machine can reach into a folder or read a file; False where there is none."""
    try:
        return sys.platform != "win32" and bool(path.stat().st_mode & _OTHERS)
    except OSError:
        return False


def open_private(path: Path, flags: int = os.O_RDWR) -> int:
    """A descriptor of the file, which is made when there is none."""
    descriptor = os.open(path, flags | os.O_CREAT, FILE_MODE)
    _mend_descriptor(descriptor)
    return descriptor


def make_private_file(path: Path) -> None:
    """Make the file if there is none. One that is there is not opened: POSIX takes all locks that a process has on a
    file when it closes any descriptor of it. Raises OSError where it could not be written to."""
    real = Path(os.path.realpath(path))
    try:
        descriptor = os.open(real, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE)
    except FileExistsError:
        mend_file(real)
        _require_writable(real)
        return
    try:
        _mend_descriptor(descriptor)
    finally:
        os.close(descriptor)


def write_private(path: Path, text: str) -> None:
    """Write a small file."""
    with os.fdopen(open_private(path, os.O_WRONLY | os.O_TRUNC), "w", encoding="utf-8") as file:
        file.write(text)


def mend_file(path: Path) -> None:
    """Close a file that others can read."""
    if is_open_to_others(path):
        _close(path)


def _mend_descriptor(descriptor: int) -> None:
    if sys.platform != "win32":
        status = os.fstat(descriptor)
        if stat.S_IMODE(status.st_mode) != FILE_MODE and status.st_uid == os.geteuid():
            os.fchmod(descriptor, FILE_MODE)


def _require_writable(path: Path) -> None:
    if os.access(path, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        return
    is_read_only = sys.platform != "win32" and bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    code = errno.EROFS if is_read_only else errno.EACCES
    raise OSError(code, os.strerror(code), str(path))


def _close(path: Path) -> None:
    with suppress(OSError):  # gone meanwhile, or somebody else's
        status = path.lstat()
        if status.st_mode & _OTHERS and not stat.S_ISLNK(status.st_mode):
            path.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS)


def _is_ours(entry: Path) -> bool:
    """Whether something in a data folder is what Deltos puts there."""
    return entry.name in _OUR_NAMES or ".db" in entry.name or entry.suffix == ".lock"


def _may_close(folder: Path) -> bool:
    """Whether a folder is not for everybody, as `/tmp` is, nor contains a home folder, nor belongs to another user."""
    status = folder.stat()
    try:
        home = Path.home()
    except RuntimeError:
        home = Path(folder.anchor)
    shared = bool(status.st_mode & stat.S_ISVTX) or home.is_relative_to(folder.resolve())
    return status.st_uid == os.geteuid() and not shared
