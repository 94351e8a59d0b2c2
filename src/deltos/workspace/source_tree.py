"""Source files of an indexed project, read from the checkout on disk or from file contents stored in the index."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Protocol

from deltos.errors import FileRefused
from deltos.files import MISSING, FileTree

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.store.project import ProjectFiles

_PREFETCH_FILES = 64


class SourceTree(Protocol):
    """Files that can be read by path. This is a context manager that closes open files."""

    def __enter__(self) -> SourceTree: ...

    def __exit__(self, *_: object) -> None: ...

    def status(self, path: str) -> os.stat_result:
        """Return the current or stored `lstat` result of a file. Raise FileRefused if the file does not exist."""

    def read_head(self, path: str, max_bytes: int) -> bytes:
        """Return the first `max_bytes` of a file. Raise FileRefused if the file cannot be read."""

    def close(self) -> None:
        """Close open files."""


def has_checkout(root: Path, store: ProjectFiles) -> bool:
    """Whether files are read from disk, which is always the case if the index stores no file contents."""
    return not store.keeps_contents or root.is_dir()


def source_tree(root: Path, store: ProjectFiles | None, *, order: Sequence[str] = ()) -> SourceTree:
    """Return the files of a project.

    `order` is the order in which they will be read, so that they can be prefetched.
    """
    if store is None or has_checkout(root, store):
        return FileTree(root)
    return StoredTree(store, order)


class StoredTree:
    """`SourceTree` that reads the file contents stored in the index."""

    def __init__(self, store: ProjectFiles, order: Sequence[str] = ()) -> None:
        self._store = store
        self._order = order
        self._positions = {path: position for position, path in enumerate(order)}
        self._read: dict[str, bytes] = {}

    def __enter__(self) -> StoredTree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free prefetched contents."""
        self._read.clear()

    def status(self, path: str) -> os.stat_result:
        """Return the stored size and times of a file as an `lstat` result."""
        file = self._store.file(path)
        if file is None:
            raise FileRefused(path, MISSING)
        mode = stat.S_IFREG | stat.S_IRUSR
        times = {"st_mtime_ns": file.stamp.mtime_ns, "st_ctime_ns": 0}
        return os.stat_result((mode, 0, 0, 1, 0, 0, file.stamp.size, 0, 0, 0), times)

    def read_head(self, path: str, max_bytes: int) -> bytes:
        """Return the first bytes of a stored file, and prefetch the files that follow in the given order."""
        if path not in self._read:
            position = self._positions.get(path)
            prefetched = [path] if position is None else self._order[position : position + _PREFETCH_FILES]
            self._read = self._store.contents(prefetched)
        if path not in self._read:
            raise FileRefused(path, MISSING)
        return self._read[path][:max_bytes]
