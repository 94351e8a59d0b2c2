"""Location of Deltos in uv: in its cache (`uvx`), which uv may clear, or installed as a tool."""

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

_CACHE_FOLDER_PREFIXES = (
    "archive-v",
    "environments-v",
    "builds-v",
)  # prefixes of folders in uv's cache, without the layout version


def is_in_cache(path: Path, environ: Mapping[str, str]) -> bool:
    """Whether a program is in uv's cache, where it may be deleted at any time."""
    cache = environ.get("UV_CACHE_DIR", "")
    if cache and path.is_relative_to(Path(cache).absolute()):
        return True
    return any(part.startswith(_CACHE_FOLDER_PREFIXES) and part.rpartition("-v")[2].isdigit() for part in path.parts)


def installed_tool(environ: Mapping[str, str]) -> Path | None:
    """Return the `deltos` on the PATH that is not in uv's cache, or None if there is none."""
    for folder in environ.get("PATH", "").split(os.pathsep):
        found = shutil.which("deltos", path=folder) if folder else None
        if found and not is_in_cache(Path(found).absolute(), environ):
            return Path(found).absolute()
    return None


def stable_path(script: Path) -> Path:
    """Return the path of an installed tool that is stable when its environment is rebuilt, or the script itself."""
    try:
        receipt = tomllib.loads((script.parent.parent / "uv-receipt.toml").read_text("utf-8"))
        entries = receipt["tool"]["entrypoints"]
        named = (Path(entry["install-path"]) for entry in entries if entry["name"] == script.stem)
        return next((path for path in named if path.is_file()), script)
    except (OSError, ValueError, KeyError, TypeError):  # not a uv tool, or its receipt has an unknown format
        return script


def own_origin() -> str | None:
    """Return the installation source (`direct_url.json`, PEP 610) of this Deltos, or None if it is a package index."""
    from importlib.metadata import distribution  # deferred: slow, and rarely needed

    return distribution("deltos").read_text("direct_url.json")


def requirement(version: str, origin: str | None) -> str:
    """Return the requirement with which uv installs this version from the same source (PEP 610)."""
    source = json.loads(origin) if origin else {}
    if "vcs_info" in source:
        kind, commit = source["vcs_info"]["vcs"], source["vcs_info"]["commit_id"]
        return f"deltos @ {kind}+{source['url']}@{commit}"
    return f"deltos @ {source['url']}" if source else f"deltos=={version}"


def install_tool(requirement: str) -> Path:
    """Install Deltos as a uv tool and return the path of its executable."""
    try:
        # Quiet, because a list of eighty packages would hide other output. Errors are still printed.
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
