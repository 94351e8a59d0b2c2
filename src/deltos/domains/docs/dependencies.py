"""Read a project's dependencies from pyproject.toml, requirements*.txt, requirements/*.txt and package.json."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.docs.installed_packages import normalised_name, read_json
from deltos.errors import FileRefused, SourceError
from deltos.files import MISSING, FileTree

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated_parser import Parser

_REQUIREMENT_NAME = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)")
_PYPROJECT = "pyproject.toml"
_REQUIREMENTS = "requirements"
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
    skipped: list[str] = []
    with FileTree(project_root.resolve()) as tree:
        python = _pyproject_packages(tree, parser)
        for path in _requirements_files(tree):
            try:
                python += _required_packages(tree.read(path, _MAX_FILE_BYTES).decode("utf-8", "replace"))
            except FileRefused as refused:
                skipped.append(f"{path[-_MAX_SHOWN_CHARACTERS:]}: {refused.reason}")
        node = _package_json_packages(tree)
    addresses = [*(f"pypi:{name}" for name in dict.fromkeys(map(normalised_name, python)))]
    addresses += [f"npm:{name}" for name in node]
    if len(addresses) > MAX_DEPENDENCIES:
        skipped.append(f"{len(addresses) - MAX_DEPENDENCIES:,} dependencies beyond the limit of {MAX_DEPENDENCIES:,}")
    return Dependencies(tuple(addresses[:MAX_DEPENDENCIES]), tuple(skipped))


def _requirements_files(tree: FileTree) -> list[str]:
    """Return the files `requirements*.txt` and `requirements/*.txt` of a project."""
    found: list[str] = []
    for folder, beginning in (("", _REQUIREMENTS), (f"{_REQUIREMENTS}/", "")):
        try:
            names = [entry.name for entry in tree.entries(folder.rstrip("/"))]
        except FileRefused:
            continue
        found += [folder + name for name in names if name.startswith(beginning) and name.endswith(".txt")]
    return found[:_MAX_FILES]


def _required_packages(text: str) -> list[str]:
    """Return the names of the packages in a requirements file."""
    lines = (line.split(" #")[0].strip() for line in text.splitlines())
    named = (line for line in lines if not line.startswith(("#", "-", ".", "/")) and "://" not in line.split("@")[0])
    return [found.group(1) for line in named if (found := _REQUIREMENT_NAME.match(line))]


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
    """Whether a TOML key has too many dotted parts. Parsing such a key takes quadratic time with tomllib."""
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
