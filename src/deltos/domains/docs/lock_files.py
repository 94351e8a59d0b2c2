"""Read the locked versions of a project's dependencies from lock files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from deltos.domains.docs.installed_packages import normalised_name, project_folders
from deltos.errors import FileRefused
from deltos.files import FileTree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Packages = Iterator[tuple[str, str]]  # pairs of package address, such as `pypi:NAME`, and version

_MAX_LOCK_BYTES = 10_000_000
_TOML_KEY = re.compile(r'^(name|version) = "([^"\n]{1,200})"', re.MULTILINE)
_PINNED_REQUIREMENT = re.compile(r"^([A-Za-z0-9][\w.-]{0,200})(?:\[[^\]\n]{0,200}\])?==([^\s;,]{1,100})", re.MULTILINE)
_PNPM_PACKAGE = re.compile(r"^  '?/?(@?[^@\s'/]{1,200}(?:/[^@\s'/]{1,200})?)[@/](\d[^\s'():]{0,100})", re.MULTILINE)
_YARN_PACKAGE = re.compile(r'^"?(@?[^@\s"]{1,200})@[^\n]{0,2000}:\n  version:? "?([^"\s]{1,100})', re.MULTILINE)
_POM_KEY = re.compile(r"<(groupId|artifactId|version)>\s{0,100}([^<\s]{1,200})\s{0,100}</")


def locked_versions(project_root: Path) -> dict[str, set[str]]:
    """Return the locked versions of each dependency, by address such as `pypi:NAME`, `npm:NAME` or `https://HOST/PATH`.

    The function reads the lock files of the project and of the workspace that contains the project, and ignores
    unreadable files.
    """
    found: dict[str, set[str]] = {}
    for folder in project_folders(project_root):
        with FileTree(folder) as tree:
            for name in _PARSERS:
                for address, version in _read_lock_file(tree, name):
                    found.setdefault(address, set()).add(version)
    return found


def _read_lock_file(tree: FileTree, name: str) -> list[tuple[str, str]]:
    """Return the packages in a lock file; empty if the file is missing or invalid."""
    try:
        return list(_PARSERS[name](tree.read(name, _MAX_LOCK_BYTES).decode("utf-8", "replace")))
    except (FileRefused, ValueError, RecursionError, AttributeError):
        return []


def _toml_tables(text: str) -> Packages:
    """Yield the name and version of each `[[package]]` table, which has one key per line."""
    for table in text.split("[[package]]")[1:]:
        # In reverse order, because dict() keeps the last value of each key.
        keys = dict(reversed(_TOML_KEY.findall(table)))
        if "name" in keys and "version" in keys:
            yield keys["name"], keys["version"]


def _toml_packages(text: str) -> Packages:
    """Yield the packages in `uv.lock` or `poetry.lock`."""
    return ((f"pypi:{normalised_name(name)}", version) for name, version in _toml_tables(text))


def _pinned_packages(text: str) -> Packages:
    """Yield the packages with exact versions in a requirements file."""
    return ((f"pypi:{normalised_name(name)}", version) for name, version in _PINNED_REQUIREMENT.findall(text))


def _pipfile_packages(text: str) -> Packages:
    for group in ("default", "develop"):
        for name, package in json.loads(text).get(group, {}).items():
            yield f"pypi:{normalised_name(name)}", package.get("version", "").removeprefix("==")


def _npm_packages(text: str) -> Packages:
    for path, package in json.loads(text).get("packages", {}).items():
        if name := path.rpartition("node_modules/")[2]:
            yield f"npm:{name}", package.get("version", "")


def _pnpm_packages(text: str) -> Packages:
    return ((f"npm:{name}", version) for name, version in _PNPM_PACKAGE.findall(text))


def _yarn_packages(text: str) -> Packages:
    return ((f"npm:{name}", version) for name, version in _YARN_PACKAGE.findall(text))


def _cargo_packages(text: str) -> Packages:
    """Yield the crates in `Cargo.lock`, identified by the address of the crate's documentation on docs.rs."""
    for name, version in _toml_tables(text):
        yield f"https://docs.rs/{name}", version


def _maven_packages(text: str) -> Packages:
    """Yield the dependencies with a version in `pom.xml`, identified by the documentation's address on javadoc.io."""
    for dependency in text.split("<dependency>")[1:]:
        keys = dict(_POM_KEY.findall(dependency.partition("</dependency>")[0]))
        if keys.keys() == {"groupId", "artifactId", "version"} and "$" not in keys["version"]:
            yield f"https://javadoc.io/doc/{keys['groupId']}/{keys['artifactId']}", keys["version"]


def _go_packages(text: str) -> Packages:
    """Yield the modules in `go.mod`, with `https://` before each module path."""
    for line in text.splitlines():
        path, version, *_ = (*line.removeprefix("require ").split(), "", "")
        if "." in path.partition("/")[0] and version.startswith("v"):
            yield f"https://{path}", version


_PARSERS = {
    "uv.lock": _toml_packages,
    "poetry.lock": _toml_packages,
    "requirements.txt": _pinned_packages,
    "Pipfile.lock": _pipfile_packages,
    "package-lock.json": _npm_packages,
    "pnpm-lock.yaml": _pnpm_packages,
    "yarn.lock": _yarn_packages,
    "go.mod": _go_packages,
    "Cargo.lock": _cargo_packages,
    "pom.xml": _maven_packages,
}
