"""Detect installations with uv: in the cache, which uv may clear (`uvx`), or as a tool."""

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

# Names of the folders in uv's cache, without the layout version that follows.
_CACHE_FOLDER_PREFIXES = ("archive-v", "environments-v", "builds-v")


def is_in_cache(path: Path, environ: Mapping[str, str]) -> bool:
    """Whether a program is in uv's cache, where it may be deleted at any time."""
    cache = environ.get("UV_CACHE_DIR", "")
    if cache and path.is_relative_to(Path(cache).absolute()):
        return True
    return any(part.startswith(_CACHE_FOLDER_PREFIXES) and part.rpartition("-v")[2].isdigit() for part in path.parts)


def installed_tool(environ: Mapping[str, str]) -> Path | None:
    """Return the first `deltos` on the PATH outside uv's cache, or None."""
    for folder in environ.get("PATH", "").split(os.pathsep):
        found = shutil.which("deltos", path=folder) if folder else None
        if found and not is_in_cache(Path(found).absolute(), environ):
            return Path(found).absolute()
    return None


def stable_path(script: Path) -> Path:
    """Return the path of a uv tool's executable, which survives upgrades, or `script` if it is not a uv tool."""
    try:
        receipt = tomllib.loads((script.parent.parent / "uv-receipt.toml").read_text("utf-8"))
        entries = receipt["tool"]["entrypoints"]
        named = (Path(entry["install-path"]) for entry in entries if entry["name"] == script.stem)
        return next((path for path in named if path.is_file()), script)
    except (OSError, ValueError, KeyError, TypeError):  # not a uv tool, or its receipt has an unknown format
        return script


def installation_origin() -> str | None:
    """Return the contents of `direct_url.json` (PEP 610), or None if Deltos was installed from a package index."""
    from importlib.metadata import distribution  # deferred import: slow, and rarely needed

    return distribution("deltos").read_text("direct_url.json")


def requirement(version: str, origin: str | None) -> str:
    """Return the requirement that installs this version from the same source (PEP 610)."""
    source = json.loads(origin) if origin else {}
    if "vcs_info" in source:
        kind, commit = source["vcs_info"]["vcs"], source["vcs_info"]["commit_id"]
        return f"deltos @ {kind}+{source['url']}@{commit}"
    return f"deltos @ {source['url']}" if source else f"deltos=={version}"


def install_tool(requirement: str) -> Path:
    """Install Deltos as a uv tool and return the path of its executable."""
    try:
        # Quiet, because uv would print eighty package names. Errors are still printed.
        subprocess.run(["uv", "tool", "install", "--quiet", requirement], check=True)
        tool_folder = subprocess.run(["uv", "tool", "dir", "--bin"], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as exc:
        raise BadConfiguration(f"uv could not install Deltos ({exc})", hint="Run `uv tool install deltos`.") from None
    found = shutil.which("deltos", path=tool_folder.strip())
    if found is None:
        raise BadConfiguration(
            "uv installed Deltos, but its executable was not found", hint="Pass its path: --command PATH."
        )
    return Path(found)
