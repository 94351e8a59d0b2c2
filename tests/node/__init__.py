"""Paths of Node and of the packages in this folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent


def program(name: str) -> str:
    """The path of an installed package's program. A missing one fails, it is not skipped."""
    path = HERE / "node_modules" / ".bin" / (f"{name}.cmd" if sys.platform == "win32" else name)
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: `make test` installs it, and so does `make node`")
    return str(path)


def environment(**more: str) -> dict[str, str]:
    """Ours, with the Node that came with our Python packages before any other."""
    bin_folder = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": os.pathsep.join([bin_folder, os.environ.get("PATH", "")]), **more}
