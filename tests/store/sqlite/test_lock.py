"""Locks between processes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from deltos.errors import StoreUnwritable
from deltos.store.sqlite.lock import acquire_by_bytes, hold_lock, try_lock

if TYPE_CHECKING:
    from pathlib import Path

HOLDER = """
import sys, pathlib
from deltos.store.sqlite.lock import hold_lock
with hold_lock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def start_holder(path: Path) -> subprocess.Popen[str]:
    """Start another process that holds the lock until its input ends."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_lock_has_one_holder_at_a_time(tmp_path: Path) -> None:
    with try_lock(tmp_path / "l") as first, try_lock(tmp_path / "l") as second:
        assert (first, second) == (True, False)
    with try_lock(tmp_path / "l") as third:
        assert third


def test_a_lock_excludes_other_processes_and_ends_with_its_holder(tmp_path: Path) -> None:
    holder = start_holder(tmp_path / "l")
    with try_lock(tmp_path / "l") as held:
        assert not held
    holder.kill()
    holder.communicate()
    with try_lock(tmp_path / "l") as held:
        assert held


def test_hold_lock_waits_until_the_holder_releases_it(tmp_path: Path) -> None:
    holder = start_holder(tmp_path / "l")
    assert holder.stdin is not None
    holder.stdin.close()
    with hold_lock(tmp_path / "l"), try_lock(tmp_path / "l") as other:
        assert not other
    holder.wait()


def test_a_lock_in_a_folder_that_cannot_be_created_raises_store_unwritable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreUnwritable, match="DELTOS_HOME"), try_lock(tmp_path / "file" / "l"):
        pass


class WindowsByteLocks:
    """A fake `msvcrt` whose `LK_LOCK` fails immediately instead of after ten seconds, while the lock is held for some
    tries.
    """

    LK_LOCK, LK_NBLCK = 1, 2

    def __init__(self, held_for_tries: int) -> None:
        self.left = held_for_tries

    def locking(self, descriptor: int, mode: int, byte_count: int, /) -> None:
        assert (os.lseek(descriptor, 0, os.SEEK_CUR), byte_count) == (0, 1)
        if self.left:
            self.left -= 1
            raise OSError(errno.EDEADLK if mode == self.LK_LOCK else errno.EACCES, "held")


def test_on_windows_waiting_continues_after_ten_seconds(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    os.write(descriptor, b"a note")
    system = WindowsByteLocks(held_for_tries=3)
    assert not acquire_by_bytes(system, descriptor, wait=False)
    assert acquire_by_bytes(system, descriptor, wait=True)
    assert system.left == 0
    os.close(descriptor)
    with pytest.raises(OSError, match="Bad file"):
        acquire_by_bytes(system, descriptor, wait=True)
