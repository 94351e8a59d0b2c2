"""Reader of git's index, which lists the tracked files with size and time (versions 2 to 4, split or sparse)."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, NamedTuple

from deltos.errors import FileRefused
from deltos.files import MISSING, FileTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.workspace.repository import Repository

MAX_INDEX_BYTES = 64_000_000  # maximum size of an index; enough for about 800,000 files
DAMAGED = "damaged"
_INDEX_FILE_NAME = "index"
_HEADER = struct.Struct(">4sII")
_EXTENSION = struct.Struct(">4sI")
_FILE_STATUS = struct.Struct(">8x2I8xI8xI")  # reads mtime, mode and size; skips ctime, device, inode, owner and group
_FLAGS = struct.Struct(">H")
_EXTENDED_FLAG = 0x4000
_STAGE_MASK = 0x3000
_NAME_LENGTH_MASK = 0x0FFF
_MAX_NAMES_BYTES = 300_000_000


class TrackedFile(NamedTuple):
    """A tracked file with the size and time that git recorded. `has_stages` is true during a merge conflict."""

    path: str
    mode: int
    object_id: str
    mtime_ns: int
    size: int
    has_stages: bool


class Index(NamedTuple):
    """All tracked files of a repository. In a split index, only the file names are reliable."""

    files: list[TrackedFile]
    is_split: bool = False
    mtime_ns: int = 0


def is_current(file: TrackedFile, size: int, mtime_ns: int, index: Index) -> bool:
    """Whether a file with this size and time is unchanged since git recorded it in the index."""
    if index.is_split or file.has_stages:
        return False
    return (file.size, file.mtime_ns) == (size & 0xFFFFFFFF, mtime_ns) and mtime_ns < index.mtime_ns


def read_index(repository: Repository) -> Index:
    """Return the repository's index, which is empty before the first `git add`.

    Raise FileRefused if it cannot be read.
    """
    hash_bytes = repository.hash_bytes
    with FileTree(repository.git_folder) as tree:
        try:
            mtime_ns = tree.status(_INDEX_FILE_NAME).st_mtime_ns
        except FileRefused as refused:
            if refused.reason == MISSING:
                return Index([])
            raise
        files, shared = _parse_index(tree.read(_INDEX_FILE_NAME, MAX_INDEX_BYTES), hash_bytes)
        if shared:
            files += _parse_index(tree.read(f"sharedindex.{shared}", MAX_INDEX_BYTES), hash_bytes)[0]
    return Index(files, bool(shared), mtime_ns)


def _parse_index(data: bytes, hash_bytes: int) -> tuple[list[TrackedFile], str]:
    """Return the files of an index, and the id of its shared index, which is empty if there is none."""
    try:
        signature, version, count = _HEADER.unpack_from(data)
        if signature != b"DIRC" or version not in (2, 3, 4):
            raise FileRefused(_INDEX_FILE_NAME, DAMAGED)
        entries = _EntryParser(data, version, hash_bytes)
        files = [entries.next() for _ in range(count)]
        return files, _shared_index(data, entries.at, hash_bytes)
    except (struct.error, IndexError, ValueError):
        raise FileRefused(_INDEX_FILE_NAME, DAMAGED) from None


class _EntryParser:
    """Parser of the entries of an index, in order."""

    def __init__(self, data: bytes, version: int, hash_bytes: int) -> None:
        self._data = data
        self._is_compressed = version == 4
        self._hash_bytes = hash_bytes
        self._last_name = b""
        self._names_bytes = 0
        self.at = _HEADER.size

    def next(self) -> TrackedFile:
        """Return the next entry."""
        data, start = self._data, self.at
        seconds, nanoseconds, mode, size = _FILE_STATUS.unpack_from(data, start)
        at = start + _FILE_STATUS.size + self._hash_bytes
        (flags,) = _FLAGS.unpack_from(data, at)
        object_id = data[at - self._hash_bytes : at].hex()
        at += 4 if flags & _EXTENDED_FLAG else 2
        name = self._compressed_name(at) if self._is_compressed else self._plain_name(start, at, flags)
        return TrackedFile(
            os.fsdecode(name), mode, object_id, seconds * 1_000_000_000 + nanoseconds, size, bool(flags & _STAGE_MASK)
        )

    def _plain_name(self, start: int, at: int, flags: int) -> bytes:
        length = flags & _NAME_LENGTH_MASK
        end = at + length if length < _NAME_LENGTH_MASK else self._data.index(b"\0", at)
        self.at = start + (end - start + 8) // 8 * 8  # one to eight NUL bytes follow the name
        return self._data[at:end]

    def _compressed_name(self, at: int) -> bytes:
        """Return a name that is stored as its difference from the previous name (prefix compression)."""
        dropped = self._data[at] & 0x7F
        while self._data[at] & 0x80:
            at += 1
            dropped = (dropped + 1) << 7 | self._data[at] & 0x7F
        end = self._data.index(b"\0", at + 1)
        self._last_name = self._last_name[: max(0, len(self._last_name) - dropped)] + self._data[at + 1 : end]
        self.at = end + 1
        self._names_bytes += len(self._last_name)
        if (
            self._names_bytes > _MAX_NAMES_BYTES
        ):  # each name may be longer than the previous one, so the total length is limited
            raise ValueError
        return self._last_name


def _shared_index(data: bytes, at: int, hash_bytes: int) -> str:
    for name, content in _read_extensions(data, at, len(data) - hash_bytes):
        if name == b"link" and len(content) >= hash_bytes and any(content[:hash_bytes]):
            return content[:hash_bytes].hex()
    return ""


def _read_extensions(data: bytes, at: int, end: int) -> Iterator[tuple[bytes, bytes]]:
    while at + _EXTENSION.size <= end:
        name, size = _EXTENSION.unpack_from(data, at)
        at += _EXTENSION.size
        yield name, data[at : at + size]
        at += size
