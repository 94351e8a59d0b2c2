"""File locks between processes, released by the system when the holder dies, with a note that survives."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from deltos.errors import StoreUnwritable
from deltos.store.private_files import make_private_folder, open_private

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NOTE_PIECE_BYTES = 65_536


class HeldLock:
    """A file lock held by this process, with a note in the file that outlives the holder."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read_note(self) -> str:
        """Return the last note of this or an earlier holder; empty if there is none."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        data = bytearray()
        while piece := os.read(self._descriptor, _NOTE_PIECE_BYTES):
            data += piece
        return bytes(data).partition(b"\n")[0].decode("utf-8", "replace")

    def write_note(self, line: str) -> None:
        """Replace the note atomically: only the first line counts, so a dying holder leaves the old or the new note."""
        data = line.encode() + b"\n"
        try:
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, data)
            os.ftruncate(self._descriptor, len(data))
        except OSError as exc:
            raise StoreUnwritable(f"Cannot write the lock file ({exc.strerror})", hint="Is the disk full?") from exc


@contextmanager
def try_noted_lock(path: Path) -> Iterator[HeldLock | None]:
    """Yield the lock with its note, or None if another process holds it. It ends with the block or the process."""
    descriptor = _open(path)
    try:
        yield HeldLock(descriptor) if _acquire(descriptor, wait=False) else None
    finally:
        os.close(descriptor)


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Yield whether this process now holds the lock. It ends with the block or the process."""
    descriptor = _open(path)
    try:
        yield _acquire(descriptor, wait=False)
    finally:
        os.close(descriptor)


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Wait for the lock. It ends with the block or the process."""
    descriptor = _open(path)
    try:
        _acquire(descriptor, wait=True)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    what = "create the data folder"
    try:
        make_private_folder(path.parent)
        what = f"write {path.name}"
        return open_private(path)
    except OSError as exc:
        raise StoreUnwritable(f"Cannot {what} ({exc.strerror})", hint="Set DELTOS_HOME to a writable folder.") from exc


class ByteLocks(Protocol):
    """The functions of `msvcrt` (Windows) used here."""

    LK_LOCK: int
    LK_NBLCK: int

    def locking(self, descriptor: int, mode: int, byte_count: int, /) -> None:
        """Lock bytes of a file; with LK_LOCK it tries ten times, once a second, and then raises OSError."""


def acquire_by_bytes(system: ByteLocks, descriptor: int, *, wait: bool) -> bool:
    """Lock the first byte of a file; with `wait`, retry after each timeout of Windows."""
    while True:
        os.lseek(descriptor, 0, os.SEEK_SET)  # the lock starts at the current position of the file
        try:
            system.locking(descriptor, system.LK_LOCK if wait else system.LK_NBLCK, 1)
        except OSError as exc:
            if wait and exc.errno in (errno.EDEADLK, errno.EACCES):
                continue
            if wait:
                raise
            return False
        return True


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _acquire(descriptor: int, *, wait: bool) -> bool:
        return acquire_by_bytes(msvcrt, descriptor, wait=wait)

else:
    import fcntl

    def _acquire(descriptor: int, *, wait: bool) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True
