"""Copies of files that share disk space with the original, on file systems with copy-on-write."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from deltos.store.private_files import FILE_MODE

if TYPE_CHECKING:
    from pathlib import Path

# A child process opens the files. If this process opened and closed a database file, POSIX would drop all locks of this
# process on the file. 0x40049409 is FICLONE, which Btrfs and XFS support.
_CLONE_ON_LINUX = """import fcntl, sys
with open(sys.argv[1], "rb") as source, open(sys.argv[2], "xb") as target:
    fcntl.ioctl(target, 0x40049409, source.fileno())
"""
_TIMEOUT_SECONDS = 10.0


def clone_file(source: Path, target: Path) -> bool:
    """Create `target` as a private clone of `source`. Return False if the file system does not support it."""
    commands = {
        "linux": [sys.executable, "-I", "-S", "-B", "-c", _CLONE_ON_LINUX],
        "darwin": ["/bin/cp", "-c"],
    }
    command = commands.get(sys.platform)
    if command is None:
        return False
    try:
        result = subprocess.run(
            [*command, str(source), str(target)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            umask=0o777 & ~FILE_MODE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        result = None
    if result is None or result.returncode:
        target.unlink(missing_ok=True)
        return False
    return True
