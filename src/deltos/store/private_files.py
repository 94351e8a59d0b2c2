"""Create folders and files that only the owner can access, regardless of the umask, and restrict existing ones."""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
# Permissions of all users except the owner.
_OTHERS_PERMISSIONS = 0o077
# Names of files and folders that Deltos creates in the data folder.
_OWN_NAMES = frozenset(
    {"projects", "locks", "clones", "journal", "toolsets", "memory-off", "memory-ask", "asked", ".writable"}
)


def make_private_folder(folder: Path) -> None:
    """Create the folder and its missing parents, or restrict an existing folder that other users can access."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        with suppress(FileExistsError):  # another process created it first
            path.mkdir(FOLDER_MODE)
            path.chmod(FOLDER_MODE)
    if not missing:
        restrict_folder(folder)


def restrict_folder(folder: Path) -> None:
    """Make the Deltos files in a folder private. Make the folder private too if it contains no other files."""
    if not is_open_to_others(folder):
        return
    with suppress(OSError):  # a read-only file system, for example, is reported by `deltos doctor`
        entries = list(folder.iterdir())
        own_entries = [entry for entry in entries if _is_own_file(entry)]
        if len(own_entries) == len(entries) and _may_restrict(folder):
            _restrict(folder)
        for entry in own_entries:
            _restrict(entry)
            if entry.is_dir():
                for inner in entry.iterdir():
                    _restrict(inner)


def is_open_to_others(path: Path) -> bool:
    """Whether other users of this machine can access a folder or file. False if it does not exist."""
    try:
        return sys.platform != "win32" and bool(path.stat().st_mode & _OTHERS_PERMISSIONS)
    except OSError:
        return False


def open_private(path: Path, flags: int = os.O_RDWR) -> int:
    """Open the file, creating it if needed, and return its descriptor."""
    descriptor = os.open(path, flags | os.O_CREAT, FILE_MODE)
    _restrict_descriptor(descriptor)
    return descriptor


def make_private_file(path: Path) -> None:
    """Create the file if needed and restrict it to its owner. Raise OSError if it is not writable."""
    # An existing file is not opened. When a process closes any descriptor of a file, POSIX drops all locks of the
    # process on the file.
    real = Path(os.path.realpath(path))
    try:
        descriptor = os.open(real, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE)
    except FileExistsError:
        restrict_file(real)
        _require_writable(real)
        return
    try:
        _restrict_descriptor(descriptor)
    finally:
        os.close(descriptor)


def write_private(path: Path, text: str) -> None:
    """Write a small private file."""
    with os.fdopen(open_private(path, os.O_WRONLY | os.O_TRUNC), "w", encoding="utf-8") as file:
        file.write(text)


def restrict_file(path: Path) -> None:
    """Remove the access of other users to a file."""
    if is_open_to_others(path):
        _restrict(path)


def _restrict_descriptor(descriptor: int) -> None:
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


def _restrict(path: Path) -> None:
    with suppress(OSError):  # the file was deleted meanwhile, or another user owns it
        status = path.lstat()
        if status.st_mode & _OTHERS_PERMISSIONS and not stat.S_ISLNK(status.st_mode):
            path.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS_PERMISSIONS)


def _is_own_file(entry: Path) -> bool:
    """Whether an entry of a data folder was created by Deltos."""
    return entry.name in _OWN_NAMES or ".db" in entry.name or entry.suffix == ".lock"


def _may_restrict(folder: Path) -> bool:
    """Whether this user owns the folder, and it is not shared (like `/tmp`) and does not contain the home folder."""
    status = folder.stat()
    try:
        home = Path.home()
    except RuntimeError:
        home = Path(folder.anchor)
    shared = bool(status.st_mode & stat.S_ISVTX) or home.is_relative_to(folder.resolve())
    return status.st_uid == os.geteuid() and not shared
