"""Paths of Node.js and of the packages in this folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent


def program(name: str) -> str:
    """Return the path of a program of an installed package; fail the test if it is missing."""
    path = HERE / "node_modules" / ".bin" / (f"{name}.cmd" if sys.platform == "win32" else name)
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: `make test` installs it, and so does `make node`")
    return str(path)


def environment(**more: str) -> dict[str, str]:
    """Return environment variables with the Node.js of our Python packages first in PATH."""
    bin_folder = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": os.pathsep.join([bin_folder, os.environ.get("PATH", "")]), **more}
