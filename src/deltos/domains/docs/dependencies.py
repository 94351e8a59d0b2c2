"""Read a project's dependencies from pyproject.toml, requirements*.txt and package.json.

Files that a requirements file includes are read only inside the project or its workspace.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.domains.docs.installed_packages import normalised_name, project_folders, read_json
from deltos.errors import FileRefused, SourceError
from deltos.files import MISSING, FileTree

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated_parser import Parser

_REQUIREMENT_NAME = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)")
_PYPROJECT = "pyproject.toml"
_INCLUDE_OPTIONS = ("-r ", "-r\t", "--requirement ", "--requirement=")
_MAX_FILES = 20  # maximum number of requirements files read per project
MAX_DEPENDENCIES = 2_000  # maximum number of dependencies; large projects have a few hundred
_MAX_KEY_PARTS = 64  # maximum number of parts in a dotted TOML key
_MAX_FILE_BYTES = 5_000_000
_MAX_SHOWN_CHARACTERS = 100  # maximum length of a path in a message; longer paths are truncated


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Required packages, as `pypi:NAME` or `npm:NAME`, and the files that were skipped, with reasons."""

    addresses: tuple[str, ...]
    skipped: tuple[str, ...] = ()


def direct_dependencies(project_root: Path, parser: Parser) -> Dependencies:
    """Return the direct dependencies of the project."""
    *_, boundary = project_folders(project_root)
    root = project_root.resolve()
    with FileTree(root) as tree:
        python = _pyproject_packages(tree, parser)
        try:
            names = [entry.name for entry in tree.entries()]
        except FileRefused:
            names = []
        node = _package_json_packages(tree)
    requirements = _Requirements(boundary)
    prefix = "".join(f"{step}/" for step in root.relative_to(boundary).parts)
    for name in names:
        if name.startswith("requirements") and name.endswith(".txt"):
            requirements.read(prefix + name)
    python += requirements.names
    addresses = [f"pypi:{name}" for name in dict.fromkeys(map(normalised_name, python))] + [
        f"npm:{name}" for name in node
    ]
    skipped = requirements.skipped
    if len(addresses) > MAX_DEPENDENCIES:
        skipped.append(f"{len(addresses) - MAX_DEPENDENCIES:,} dependencies beyond the limit of {MAX_DEPENDENCIES:,}")
    return Dependencies(tuple(addresses[:MAX_DEPENDENCIES]), tuple(skipped))


@dataclass(slots=True)
class _Requirements:
    """Reads requirements files and the files that they include; each file is read once and only inside `boundary`."""

    boundary: Path
    names: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)

    def read(self, path: str) -> None:
        """Add the package names in a requirements file and in the files that it includes."""
        if path in self._seen:
            return
        self._seen.add(path)
        if len(self._seen) > _MAX_FILES:
            self._add_skipped(path, "too many files include each other")
            return
        try:
            with FileTree(self.boundary) as tree:
                text = tree.read(path, _MAX_FILE_BYTES).decode("utf-8", "replace")
        except FileRefused as refused:
            self._add_skipped(path, refused.reason)
            return
        for line in text.splitlines():
            self._add_line(line.split(" #")[0].strip(), posixpath.dirname(path))

    def _add_line(self, line: str, folder: str) -> None:
        """Add the package in a line of a requirements file, or read the file that the line includes."""
        if included := next((line[len(mark) :].strip() for mark in _INCLUDE_OPTIONS if line.startswith(mark)), ""):
            self.read(posixpath.normpath(posixpath.join(folder, included)))
        elif not line.startswith(("#", "-", ".", "/")) and "://" not in line.split("@")[0]:
            found = _REQUIREMENT_NAME.match(line)
            self.names += [found.group(1)] if found else []

    def _add_skipped(self, path: str, reason: str) -> None:
        """Record that a file was skipped, with the reason."""
        self.skipped.append(f"{path[-_MAX_SHOWN_CHARACTERS:]}: {reason}")


def _pyproject_packages(tree: FileTree, parser: Parser) -> list[str]:
    """Return the names of the packages required by pyproject.toml; empty if there is no such file."""
    try:
        data = tree.read(_PYPROJECT, _MAX_FILE_BYTES)
    except FileRefused as refused:
        if refused.reason == MISSING:
            return []
        raise
    return parser.run(names_in_pyproject, data, content=(data,))


def _has_long_key(data: bytes) -> bool:
    """Whether a TOML key has too many dotted parts, because tomllib needs quadratic time to parse such a key."""
    return any(line.partition(b"=")[0].count(b".") >= _MAX_KEY_PARTS for line in data.splitlines())


def names_in_pyproject(data: bytes) -> list[str]:
    """Return the names of the packages that a pyproject.toml file requires."""
    if _has_long_key(data):
        raise SourceError(f"Cannot read {_PYPROJECT}: it contains a key with more than {_MAX_KEY_PARTS} parts")
    try:
        tables = tomllib.loads(data.decode("utf-8"))
    except ValueError as exc:
        raise SourceError(f"Cannot read {_PYPROJECT} ({exc})") from None
    except RecursionError:
        raise SourceError(f"Cannot read {_PYPROJECT}: it is nested too deeply") from None
    project = _as_table(tables.get("project"))
    groups = [project.get("dependencies"), *_as_table(project.get("optional-dependencies")).values()]
    groups += _as_table(tables.get("dependency-groups")).values()
    named = [line for group in groups if isinstance(group, list) for line in group if isinstance(line, str)]
    poetry = _as_table(_as_table(_as_table(tables.get("tool")).get("poetry")).get("dependencies"))
    return [found.group(1) for line in named if (found := _REQUIREMENT_NAME.match(line))] + [
        n for n in poetry if n != "python"
    ]


def _as_table(value: object) -> dict[str, object]:
    """Return the value if it is a TOML table; otherwise, return an empty table."""
    return value if isinstance(value, dict) else {}


def _package_json_packages(tree: FileTree) -> list[str]:
    """Return the names of the packages required by package.json; empty if there is no such file."""
    try:
        data = read_json(tree, "package.json")
    except FileRefused as refused:
        if refused.reason == MISSING:
            return []
        raise
    groups = [data.get("dependencies"), data.get("devDependencies")]
    return list(dict.fromkeys(name for group in groups if isinstance(group, dict) for name in group))
