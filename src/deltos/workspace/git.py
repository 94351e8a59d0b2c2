"""Ask git about a folder. Never lets a repository's own settings run anything, never writes."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT_SECONDS = 60
# Set inside hooks: they would answer for another repository than the one asked about.
_MISLEADING = frozenset(
    """GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_NAMESPACE
    GIT_ALTERNATE_OBJECT_DIRECTORIES""".split()
)


def run_git(folder: Path, *arguments: str) -> bytes | None:
    """What git prints in `folder`; None without git or a repository, or when it takes too long."""
    environ = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "-c", "core.fsmonitor=false", *arguments],
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env=environ | {"GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
