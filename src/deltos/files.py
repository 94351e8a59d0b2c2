"""Safe reading of untrusted files: only regular files below a root, without following links or waiting for pipes.

This is the only module that opens untrusted files. Size limits are checked before reading.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from deltos.errors import BadArgument, FileRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

MAX_PATH_CHARACTERS = 4_096
# Maximum nesting depth of folders. Each level needs an open descriptor.
MAX_DEPTH = 100
# Flags that prevent blocking on pipes and following links. Windows does not support them.
_FILE_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOINHERIT", 0)
)
_FOLDER_FLAGS = _FILE_FLAGS | getattr(os, "O_DIRECTORY", 0)
# Whether paths can be opened relative to folder descriptors, so that no folder can be replaced by a link meanwhile.
HAS_DESCRIPTOR_WALK = os.open in os.supports_dir_fd and os.scandir in os.supports_fd and hasattr(os, "O_NOFOLLOW")

# On Windows, a folder listing does not distinguish junctions from folders.
_LISTING_DETECTS_FOLDERS = os.name != "nt"

LINK = "links are not followed"
NOT_REGULAR = "not a regular file"
TOO_LARGE = "too large"
MISSING = "missing"
UNREADABLE = "unreadable"
NOT_A_PATH = "not a path below its folder"
TOO_DEEP = "nested too deeply"
IN_USE = "a database that Deltos has open"


class FolderEntry(NamedTuple):
    """Name and `lstat` values of an entry of a folder. Only the type is set for subfolders."""

    name: str
    mode: int
    size_bytes: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0

    @property
    def is_folder(self) -> bool:
        """Whether the entry is a folder and not a link."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        """Whether the entry is a regular file and not a link."""
        return stat.S_ISREG(self.mode)

    @property
    def is_link(self) -> bool:
        """Whether the entry is a symbolic link or, on Windows, a junction."""
        return stat.S_ISLNK(self.mode)


class HeldFiles:
    """Set of database files that only SQLite may open in this process.

    On POSIX systems, closing any descriptor of a file releases all locks of the process on the file.
    """

    _SIDE_FILE_SUFFIXES = ("-wal", "-shm")

    def __init__(self) -> None:
        self._held: Counter[tuple[int, int]] = Counter()
        self._names: Counter[str] = Counter()
        self._lock = threading.Lock()

    def hold(self, path: Path) -> Callable[[], None]:
        """Prevent a database and its side files from being opened until the returned function is called."""
        try:
            real = path.resolve()
            status = real.stat()
        except OSError:  # the file does not exist
            return lambda: None
        file = status.st_dev, status.st_ino
        with self._lock:
            self._held[file] += 1
            self._names[real.name] += 1

        def release() -> None:
            with self._lock:
                _decrement(self._held, file)
                _decrement(self._names, real.name)

        return release

    def database_of(self, name: str) -> str:
        """Return the held database to which a file with this name may belong, or an empty string."""
        if not self._names:
            return ""
        for side in self._SIDE_FILE_SUFFIXES:
            name = name.removesuffix(side)
        return name if name in self._names else ""

    def holds(self, status: os.stat_result) -> bool:
        """Whether a file with this `stat` result is a held database, which must not be opened and closed."""
        return (status.st_dev, status.st_ino) in self._held


def _decrement(counts: Counter[T], key: T) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


HELD_FILES = HeldFiles()


def read_below(root: Path | str, path: str, max_bytes: int) -> bytes:
    """Read the regular file `path` below `root`. Raise FileRefused for links and special files."""
    with FileTree(root) as tree:
        return tree.read(path, max_bytes)


def status_below(root: Path | str, path: str) -> os.stat_result:
    """Return the `lstat` result of `path` below `root` without following links. Raise FileRefused if it is missing."""
    with FileTree(root) as tree:
        return tree.status(path)


def read_own(path: Path, max_bytes: int) -> bytes:
    """Read a file that the user configured. Links in its path are followed."""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as exc:
        raise FileRefused(path.name, _refusal_reason(exc)) from None
    return read_below(real.parent, real.name, max_bytes)


class FileTree:
    """Reader of the files below a folder. Must be closed, and is not thread-safe.

    The folders of the last path stay open, so that each file of a folder needs only one system call. The root may be a
    link. On Windows, which has no folder descriptors, each part of a path is checked before it is used, so a link that
    is created between check and use would be followed.
    """

    def __init__(self, root: Path | str, *, by_descriptor: bool = HAS_DESCRIPTOR_WALK) -> None:
        self._root = str(root)
        self._by_descriptor = by_descriptor
        self._names: list[str] = []
        self._descriptors: list[int] = []

    def __enter__(self) -> FileTree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all open folders. Later calls open them again."""
        self._close_folders_below(0)
        while self._descriptors:
            os.close(self._descriptors.pop())

    def read(self, path: str, max_bytes: int) -> bytes:
        """Read a regular file of at most `max_bytes`. Raise FileRefused for any other file."""
        descriptor, size_bytes = self._open_regular(path)
        try:
            if size_bytes > max_bytes:
                raise FileRefused(path, TOO_LARGE, f"It has {size_bytes:,} bytes; the limit is {max_bytes:,}.")
            return _read(descriptor, size_bytes)
        except OSError as exc:
            raise FileRefused(path, _refusal_reason(exc)) from None
        finally:
            os.close(descriptor)

    def read_head(self, path: str, max_bytes: int) -> bytes:
        """Read the first `max_bytes` of a regular file. Raise FileRefused for any other file."""
        descriptor, size_bytes = self._open_regular(path)
        try:
            return _read(descriptor, min(size_bytes, max_bytes))
        except OSError as exc:
            raise FileRefused(path, _refusal_reason(exc)) from None
        finally:
            os.close(descriptor)

    def read_tail(self, path: str, max_bytes: int) -> bytes:
        """Read the last `max_bytes` of a regular file. Raise FileRefused for any other file."""
        descriptor, size_bytes = self._open_regular(path)
        try:
            os.lseek(descriptor, max(0, size_bytes - max_bytes), os.SEEK_SET)
            return _read(descriptor, min(size_bytes, max_bytes))
        except OSError as exc:
            raise FileRefused(path, _refusal_reason(exc)) from None
        finally:
            os.close(descriptor)

    def pieces(self, path: str, piece_bytes: int) -> Iterator[bytes]:
        """Yield the content of a regular file of any size in blocks of bytes. Raise FileRefused for any other file."""
        descriptor, _ = self._open_regular(path)
        try:
            while piece := os.read(descriptor, piece_bytes):
                yield piece
        except OSError as exc:
            raise FileRefused(path, _refusal_reason(exc)) from None
        finally:
            os.close(descriptor)

    def status(self, path: str) -> os.stat_result:
        """Return the `lstat` result of a path without following links. Raise FileRefused if it is missing."""
        *folders, name = _split_path(path)
        try:
            if self._by_descriptor:
                return os.stat(name, dir_fd=self._open_folders(folders), follow_symlinks=False)
            return os.lstat(f"{self._check_path(folders)}/{name}")
        except (OSError, ValueError) as exc:
            raise FileRefused(path, _refusal_reason(exc)) from None

    def is_file(self, path: str) -> bool:
        """Whether a path is a regular file, without following links."""
        try:
            return stat.S_ISREG(self.status(path).st_mode)
        except FileRefused:
            return False

    def is_folder(self, path: str) -> bool:
        """Whether a path is a folder, without following links."""
        try:
            return stat.S_ISDIR(self.status(path).st_mode)
        except FileRefused:
            return False

    def entries(self, folder: str = "") -> list[FolderEntry]:
        """Return the entries of a folder (default: the root), sorted by name. Raise FileRefused if it is unreadable."""
        return self.listing(folder)[1]

    def listing(self, folder: str = "") -> tuple[os.stat_result, list[FolderEntry]]:
        """Return the `stat` result of a folder, taken before the listing, and the entries."""
        folders = _split_path(folder) if folder else []
        try:
            if self._by_descriptor:
                descriptor = self._open_folders(folders)
                return os.fstat(descriptor), _list_entries(descriptor)
            path = self._check_path(folders)
            return os.lstat(path), _list_entries(path)
        except (OSError, ValueError) as exc:
            raise FileRefused(folder, _refusal_reason(exc)) from None

    def plain_folders(self, folder: str) -> list[str]:
        """Return the subfolders of a folder. Raise FileRefused if it contains a link or special file."""
        folders = _split_path(folder)
        try:
            inside = self._open_folders(folders) if self._by_descriptor else self._check_path(folders)
            with os.scandir(inside) as entries:
                found = [(entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink()) for entry in entries
                         if not entry.is_file(follow_symlinks=False)]  # fmt: skip
        except (OSError, ValueError) as exc:
            raise FileRefused(folder, _refusal_reason(exc)) from None
        for name, is_folder, is_link in found:
            if not is_folder:
                raise FileRefused(f"{folder}/{name}", LINK if is_link else NOT_REGULAR)
        return [f"{folder}/{name}" for name, *_ in found]

    def _open_regular(self, path: str) -> tuple[int, int]:
        """Open a regular file, and return its descriptor and size."""
        descriptor = self._open(path)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise FileRefused(path, NOT_REGULAR)
        return descriptor, status.st_size

    def _open(self, path: str) -> int:
        *folders, name = _split_path(path)
        if (database := HELD_FILES.database_of(name)) and self._is_held_database("/".join((*folders, database))):
            raise FileRefused(path, IN_USE)
        try:
            if self._by_descriptor:
                return os.open(name, _FILE_FLAGS, dir_fd=self._open_folders(folders))
            return os.open(self._check_path(folders, name), _FILE_FLAGS)
        except (OSError, ValueError) as exc:
            raise FileRefused(path, _refusal_reason(exc)) from None

    def _is_held_database(self, path: str) -> bool:
        try:
            return HELD_FILES.holds(self.status(path))
        except FileRefused:
            return False

    def _open_folders(self, folders: list[str]) -> int:
        """Return the descriptor of a folder. Each folder is opened relative to its parent."""
        if not self._descriptors:
            self._descriptors.append(os.open(self._root, _FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0)))
        if folders != self._names:
            self._close_folders_below(_common_part_count(folders, self._names))
            for name in folders[len(self._names) :]:
                self._descriptors.append(_open_folder(name, self._descriptors[-1]))
                self._names.append(name)
        return self._descriptors[-1]

    def _close_folders_below(self, depth: int) -> None:
        while len(self._names) > depth:
            self._names.pop()
            os.close(self._descriptors.pop())

    def _check_path(self, folders: list[str], name: str = "") -> str:
        """Check that no part of a path is a link, and return the full path."""
        path = self._root
        for step in folders:
            path = f"{path}/{step}"
            _require_type(os.lstat(path), stat.S_IFDIR)
        if name:
            path = f"{path}/{name}"
            _require_type(os.lstat(path), stat.S_IFREG)
        return path


def _open_folder(name: str, parent: int) -> int:
    try:
        return os.open(name, _FOLDER_FLAGS, dir_fd=parent)
    except NotADirectoryError:  # also raised for links on Linux
        _require_type(os.stat(name, dir_fd=parent, follow_symlinks=False), stat.S_IFDIR)
        raise


def _require_type(status: os.stat_result, kind: int) -> None:
    """Raise the `OSError` that the system raises for a link, or for a file of another type than `kind`."""
    if _is_link(status):
        raise OSError(errno.ELOOP, "")
    if stat.S_IFMT(status.st_mode) != kind:
        raise OSError(errno.ENOTDIR if kind == stat.S_IFDIR else errno.ENXIO, "")


def _split_path(path: str) -> list[str]:
    """Split a relative path into its parts. Raise FileRefused if it could lead outside the root."""
    parts = path.split("/")
    if "" in parts or "." in parts or ".." in parts or "\0" in path:
        raise FileRefused(path, NOT_A_PATH)
    if os.name == "nt" and any(_is_special_on_windows(part) for part in parts):
        raise FileRefused(path, NOT_A_PATH)
    if len(parts) > MAX_DEPTH:
        raise FileRefused(path, TOO_DEEP)
    return parts


def _is_special_on_windows(name: str) -> bool:
    """Whether Windows interprets a name as a drive, stream, device or path."""
    from pathlib import PureWindowsPath  # deferred import: needed only on Windows

    return "\\" in name or ":" in name or PureWindowsPath(name).is_reserved()


def _common_part_count(one: list[str], other: list[str]) -> int:
    """Return the number of equal parts at the start of two paths."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _list_entries(folder: int | str) -> list[FolderEntry]:
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                if _LISTING_DETECTS_FOLDERS and entry.is_dir(follow_symlinks=False):
                    found.append(FolderEntry(entry.name, stat.S_IFDIR))
                    continue
                status = entry.stat(follow_symlinks=False)
            except OSError:  # the entry was deleted after the listing
                continue
            mode = status.st_mode if _LISTING_DETECTS_FOLDERS or not _is_link(status) else stat.S_IFLNK
            found.append(FolderEntry(entry.name, mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    found.sort()
    return found


def _is_link(status: os.stat_result) -> bool:
    if stat.S_ISLNK(status.st_mode):
        return True
    attributes = getattr(status, "st_file_attributes", 0)
    return bool(attributes & getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0))


def _read(descriptor: int, wanted: int) -> bytes:
    """Read up to `wanted` bytes from a descriptor."""
    # System calls are faster than a file object, which would query the size and type again.
    data = os.read(descriptor, wanted)
    while len(data) < wanted and (piece := os.read(descriptor, wanted - len(data))):
        data += piece
    return data


def _refusal_reason(exc: Exception) -> str:
    """Return the reason constant for a system error."""
    code = getattr(exc, "errno", None)
    if code in (errno.ELOOP, getattr(errno, "EMLINK", errno.ELOOP)):
        return LINK
    if code in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
        return MISSING
    if code in (errno.ENXIO, errno.EISDIR, errno.EOPNOTSUPP):
        return NOT_REGULAR
    return UNREADABLE


def given_path(text: str) -> Path:
    """Parse a path from a user or agent, and expand `~`. Raise BadArgument if it is invalid."""
    if not text.strip() or "\0" in text or len(text) > MAX_PATH_CHARACTERS:
        raise BadArgument("The path is empty or invalid", hint="Pass the path of a file or folder.")
    try:
        return Path(text).expanduser()
    except RuntimeError:  # `~name` with an unknown user
        raise BadArgument(
            f"There is no home folder '{text.partition('/')[0][:200]}'", hint="Pass a full path."
        ) from None
