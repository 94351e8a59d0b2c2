"""The files of an indexed project: on disk where its checkout is there, else as the index keeps them."""

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

_READ_AHEAD_FILES = 64


class SourceTree(Protocol):
    """Files that are read by their paths; its `with` block closes what it holds open."""

    def __enter__(self) -> SourceTree: ...
    def __exit__(self, *_: object) -> None: ...

    def status(self, path: str) -> os.stat_result:
        """What `lstat` says, or said when it was indexed; raises FileRefused when there is nothing."""

    def read_head(self, path: str, max_bytes: int) -> bytes:
        """The first `max_bytes` of a file; raises FileRefused when it cannot be read."""

    def close(self) -> None:
        """Let go of it."""


def has_checkout(root: Path, store: ProjectFiles) -> bool:
    """Whether files are read from disk; where the index keeps no contents, there is no other way."""
    return not store.keeps_contents or root.is_dir()


def source_tree(root: Path, store: ProjectFiles | None, *, order: Sequence[str] = ()) -> SourceTree:
    """The files of a project; `order` is the one in which many of them will be read."""
    if store is None or has_checkout(root, store):
        return FileTree(root)
    return StoredTree(store, order)


class StoredTree:
    """Implements `SourceTree` for files of the index whose checkout is elsewhere."""

    def __init__(self, store: ProjectFiles, order: Sequence[str] = ()) -> None:
        self._store = store
        self._order = order
        self._places = {path: place for place, path in enumerate(order)}
        self._read: dict[str, bytes] = {}

    def __enter__(self) -> StoredTree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._read.clear()

    def status(self, path: str) -> os.stat_result:
        file = self._store.file(path)
        if file is None:
            raise FileRefused(path, MISSING)
        mode = stat.S_IFREG | stat.S_IRUSR
        times = {"st_mtime_ns": file.stamp.mtime_ns, "st_ctime_ns": 0}
        return os.stat_result((mode, 0, 0, 1, 0, 0, file.stamp.size, 0, 0, 0), times)

    def read_head(self, path: str, max_bytes: int) -> bytes:
        if path not in self._read:
            place = self._places.get(path)
            ahead = [path] if place is None else self._order[place : place + _READ_AHEAD_FILES]
            self._read = self._store.contents(ahead)
        if path not in self._read:
            raise FileRefused(path, MISSING)
        return self._read[path][:max_bytes]
