"""Deltos as uv keeps it: run by `uvx` from a cache that uv may empty, or installed as a tool that stays."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.errors import BadConfiguration

if TYPE_CHECKING:
    from collections.abc import Mapping

_CACHED = ("archive-v", "environments-v", "builds-v")  # folders of uv's cache, with the version of their layout


def is_in_cache(path: Path, environ: Mapping[str, str]) -> bool:
    """Whether a program lies where uv keeps what it may delete at any time."""
    cache = environ.get("UV_CACHE_DIR", "")
    if cache and path.is_relative_to(Path(cache).absolute()):
        return True
    return any(part.startswith(_CACHED) and part.rpartition("-v")[2].isdigit() for part in path.parts)


def installed_tool(environ: Mapping[str, str]) -> Path | None:
    """The `deltos` on the PATH that stays; None where there is none."""
    for folder in environ.get("PATH", "").split(os.pathsep):
        found = shutil.which("deltos", path=folder) if folder else None
        if found and not is_in_cache(Path(found).absolute(), environ):
            return Path(found).absolute()
    return None


def install_tool(requirement: str) -> Path:
    """Have uv install Deltos as a tool; its program."""
    try:
        subprocess.run(["uv", "tool", "install", requirement], check=True)
        told = subprocess.run(["uv", "tool", "dir", "--bin"], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as exc:
        raise BadConfiguration(f"uv could not install Deltos ({exc})", hint="Run `uv tool install deltos`.") from None
    found = shutil.which("deltos", path=told.strip())
    if found is None:
        raise BadConfiguration("uv installed Deltos, but not where it said", hint="Give the path: --command PATH.")
    return Path(found)
