"""Locks between processes that the system takes back when their holder dies."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deltos.errors import StoreUnwritable
from deltos.store.private import make_private_folder, open_private

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Whether this process now holds the lock; held until the block ends or the process dies."""
    descriptor = _open(path)
    try:
        yield _acquire(descriptor, wait=False)
    finally:
        os.close(descriptor)


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Wait for the lock; held until the block ends or the process dies."""
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


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _acquire(descriptor: int, *, wait: bool) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _acquire(descriptor: int, *, wait: bool) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True
