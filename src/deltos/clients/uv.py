"""Deltos as uv keeps it: run by `uvx` from a cache that uv may empty, or installed as a tool that stays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
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


def started_as(script: Path) -> Path:
    """The path by which a tool of uv is started, which stays when its environment is made anew; else the script."""
    try:
        receipt = tomllib.loads((script.parent.parent / "uv-receipt.toml").read_text("utf-8"))
        entries = receipt["tool"]["entrypoints"]
        named = (Path(entry["install-path"]) for entry in entries if entry["name"] == script.stem)
        return next((path for path in named if path.is_file()), script)
    except (OSError, ValueError, KeyError, TypeError):  # no tool of uv, or one of a uv that writes it down otherwise
        return script


def own_origin() -> str | None:
    """What the installer of this Deltos wrote down of where it came from, unless that is an index."""
    from importlib.metadata import distribution  # deferred: slow, and rarely needed

    return distribution("deltos").read_text("direct_url.json")


def requirement(version: str, origin: str | None) -> str:
    """What to have uv install: this version, from where it came (PEP 610), which need not be the index."""
    told = json.loads(origin) if origin else {}
    if "vcs_info" in told:
        kind, commit = told["vcs_info"]["vcs"], told["vcs_info"]["commit_id"]
        return f"deltos @ {kind}+{told['url']}@{commit}"
    return f"deltos @ {told['url']}" if told else f"deltos=={version}"


def install_tool(requirement: str) -> Path:
    """Have uv install Deltos as a tool; its program."""
    try:
        # Quiet: a list of eighty packages hides what else is said. Errors are told all the same.
        subprocess.run(["uv", "tool", "install", "--quiet", requirement], check=True)
        told = subprocess.run(["uv", "tool", "dir", "--bin"], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as exc:
        raise BadConfiguration(f"uv could not install Deltos ({exc})", hint="Run `uv tool install deltos`.") from None
    found = shutil.which("deltos", path=told.strip())
    if found is None:
        raise BadConfiguration("uv installed Deltos, but not where it said", hint="Give the path: --command PATH.")
    return Path(found)
