"""Read the locked versions of a project's dependencies from lock files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from deltos.domains.docs.installed_packages import boundaries, normalised_name
from deltos.errors import FileRefused
from deltos.files import FileTree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Packages = Iterator[tuple[str, str]]  # address without a version, and version

_MAX_LOCK_BYTES = 10_000_000
_KEY = re.compile(r'^(name|version) = "([^"\n]{1,200})"', re.MULTILINE)
_PINNED = re.compile(r"^([A-Za-z0-9][\w.-]{0,200})(?:\[[^\]\n]{0,200}\])?==([^\s;,]{1,100})", re.MULTILINE)
_PNPM = re.compile(r"^  '?/?(@?[^@\s'/]{1,200}(?:/[^@\s'/]{1,200})?)[@/](\d[^\s'():]{0,100})", re.MULTILINE)
_YARN = re.compile(r'^"?(@?[^@\s"]{1,200})@[^\n]{0,2000}:\n  version:? "?([^"\s]{1,100})', re.MULTILINE)


def locked_versions(project_root: Path) -> dict[str, set[str]]:
    """Return the locked versions of each dependency by its address: `pypi:NAME`, `npm:NAME` or `https://HOST/PATH`.

    The lock files of the project and of the workspace around it are read; unreadable ones are ignored.
    """
    found: dict[str, set[str]] = {}
    for folder in boundaries(project_root):
        with FileTree(folder) as tree:
            for name in _READERS:
                for address, version in _packages(tree, name):
                    found.setdefault(address, set()).add(version)
    return found


def _packages(tree: FileTree, name: str) -> list[tuple[str, str]]:
    try:
        return list(_READERS[name](tree.read(name, _MAX_LOCK_BYTES).decode("utf-8", "replace")))
    except (FileRefused, ValueError, RecursionError, AttributeError):
        return []


def _toml_packages(text: str) -> Packages:
    """Read `uv.lock` and `poetry.lock`, which list packages as TOML tables with a line for each key."""
    for table in text.split("[[package]]")[1:]:
        keys = dict(reversed(_KEY.findall(table)))  # the first line of each key
        if "name" in keys and "version" in keys:
            yield f"pypi:{normalised_name(keys['name'])}", keys["version"]


def _pinned_packages(text: str) -> Packages:
    """Read a requirements file with exact versions."""
    return ((f"pypi:{normalised_name(name)}", version) for name, version in _PINNED.findall(text))


def _pipfile_packages(text: str) -> Packages:
    for group in ("default", "develop"):
        for name, package in json.loads(text).get(group, {}).items():
            yield f"pypi:{normalised_name(name)}", package.get("version", "").removeprefix("==")


def _npm_packages(text: str) -> Packages:
    for path, package in json.loads(text).get("packages", {}).items():
        if name := path.rpartition("node_modules/")[2]:
            yield f"npm:{name}", package.get("version", "")


def _pnpm_packages(text: str) -> Packages:
    return ((f"npm:{name}", version) for name, version in _PNPM.findall(text))


def _yarn_packages(text: str) -> Packages:
    return ((f"npm:{name}", version) for name, version in _YARN.findall(text))


def _go_packages(text: str) -> Packages:
    """Read the modules of `go.mod`, whose paths are addresses of repositories."""
    for line in text.splitlines():
        path, version, *_ = (*line.removeprefix("require ").split(), "", "")
        if "." in path.partition("/")[0] and version.startswith("v"):
            yield f"https://{path}", version


_READERS = {
    "uv.lock": _toml_packages,
    "poetry.lock": _toml_packages,
    "requirements.txt": _pinned_packages,
    "Pipfile.lock": _pipfile_packages,
    "package-lock.json": _npm_packages,
    "pnpm-lock.yaml": _pnpm_packages,
    "yarn.lock": _yarn_packages,
    "go.mod": _go_packages,
}
