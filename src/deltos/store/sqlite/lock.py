"""File locks between processes. The operating system releases them when the process ends."""

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


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Yield whether this process acquired the lock. The lock is released at the end of the block or process."""
    descriptor = _open_lock_file(path)
    try:
        yield _acquire(descriptor, wait=False)
    finally:
        os.close(descriptor)


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Wait for the lock. The lock is released at the end of the block or process."""
    descriptor = _open_lock_file(path)
    try:
        _acquire(descriptor, wait=True)
        yield
    finally:
        os.close(descriptor)


def _open_lock_file(path: Path) -> int:
    what = "create the data folder"
    try:
        make_private_folder(path.parent)
        what = f"write {path.name}"
        return open_private(path)
    except OSError as exc:
        raise StoreUnwritable(f"Cannot {what} ({exc.strerror})", hint="Set DELTOS_HOME to a writable folder.") from exc


class ByteLocks(Protocol):
    """The functions of the Windows module `msvcrt` that are needed for file locks."""

    LK_LOCK: int
    LK_NBLCK: int

    def locking(self, descriptor: int, mode: int, byte_count: int, /) -> None:
        """Lock bytes of a file. With LK_LOCK, try once per second, ten times in total, and then raise OSError."""


def acquire_by_bytes(system: ByteLocks, descriptor: int, *, wait: bool) -> bool:
    """Lock the first byte of a file. If `wait` is true, try again whenever Windows reports a timeout."""
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
