"""Read package names from the manifests `go.mod`, `Cargo.toml` and `pyproject.toml`.

Go's import paths start with the module in `go.mod`, and Rust's paths start with the crate in `Cargo.toml`. The name in
a `pyproject.toml` is the name by which other projects require a Python package. Manifests are parsed in a child
process, because tomllib needs quadratic time for long dotted keys.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.facts import GoModule, PackageDeclaration
from deltos.domains.graph.kernel.resolver import FileFacts

if TYPE_CHECKING:
    from collections.abc import Iterator

MANIFEST_LANGUAGE = "go.mod"
CARGO, PYTHON = "cargo", "python"
_MAX_BYTES = 200_000
_MAX_NAMES = 2_000
_MODULE = re.compile(rb"^[ \t\r\f\v]*module\s++(\S++)", re.MULTILINE)
_REQUIREMENT_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def is_manifest(path: str) -> bool:
    """Whether a file is a `go.mod` manifest."""
    return path.rpartition("/")[2] == "go.mod"


def is_package_manifest(path: str) -> bool:
    """Whether a file declares a Rust or Python package."""
    return path.rpartition("/")[2] in ("Cargo.toml", "pyproject.toml")


def manifest_facts(data: bytes) -> FileFacts:
    """Return the facts of a `go.mod` file: the name of the module."""
    found = _MODULE.search(data)
    return FileFacts((), GoModule(found[1].decode("utf-8", "replace").strip('"')) if found else None, None)


def declared_package(path: str, data: bytes) -> PackageDeclaration | None:
    """Return the package that a Cargo.toml or pyproject.toml declares, or None if it is invalid or declares none."""
    if len(data) > _MAX_BYTES:
        return None
    try:
        tables = tomllib.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return _cargo_package(tables) if path.endswith("Cargo.toml") else _python_package(tables)


def _cargo_package(tables: dict[str, object]) -> PackageDeclaration | None:
    """Return the package that a parsed Cargo.toml declares."""
    name, library = _string_or_empty(_table(tables, "package").get("name")), _table(tables, "lib")
    if not name:
        return None
    called = _string_or_empty(library.get("name")) or name.replace("-", "_")
    required = [each.replace("-", "_") for each in _table(tables, "dependencies")]
    return PackageDeclaration(
        CARGO, called, (_string_or_empty(library.get("path")) or "src/lib.rs",), tuple(required[:_MAX_NAMES])
    )


def _python_package(tables: dict[str, object]) -> PackageDeclaration | None:
    """Return the package that a parsed pyproject.toml declares."""
    project, poetry = _table(tables, "project"), _table(tables, "tool", "poetry")
    name = _string_or_empty(project.get("name")) or _string_or_empty(poetry.get("name"))
    required = [match[1] for line in _requirements(tables, project) if (match := _REQUIREMENT_NAME.match(line))]
    required += [each for each in _table(poetry, "dependencies") if each != "python"]
    if not name and not required:
        return None
    return PackageDeclaration(PYTHON, name, tuple(_package_folders(tables)), tuple(required[:_MAX_NAMES]))


def _requirements(tables: dict[str, object], project: dict[str, object]) -> Iterator[str]:
    """Yield the requirements in a parsed pyproject.toml, including optional and development requirements."""
    groups = [project.get("dependencies"), *_table(project, "optional-dependencies").values()]
    groups += _table(tables, "dependency-groups").values()
    for group in groups:
        yield from (line for line in group if isinstance(line, str)) if isinstance(group, list) else ()


def _package_folders(tables: dict[str, object]) -> Iterator[str]:
    """Yield the package folders in the configuration of hatch, poetry, setuptools or uv."""
    yield from _strings(_table(tables, "tool", "hatch", "build", "targets", "wheel").get("packages"))
    packages = _table(tables, "tool", "poetry").get("packages")
    for each in packages if isinstance(packages, list) else ():
        if isinstance(each, dict) and (include := _string_or_empty(each.get("include"))):
            yield f"{_string_or_empty(each.get('from'))}/{include}".strip("/")
    setuptools = _table(tables, "tool", "setuptools")
    for where in _strings(_table(setuptools, "packages", "find").get("where")):
        yield f"{where.strip('/')}/*"
    for package, folder in _table(setuptools, "package-dir").items():
        if isinstance(folder, str):
            yield folder if package else f"{folder.strip('/')}/*"
    backend = _table(tables, "tool", "uv", "build-backend")
    if module := _string_or_empty(backend.get("module-name")):
        root = _string_or_empty(backend.get("module-root")) if "module-root" in backend else "src"
        yield f"{root}/{module.replace('.', '/')}".strip("/")


def _table(tables: dict[str, object], *keys: str) -> dict[str, object]:
    """Return the nested table at a sequence of keys, or an empty dictionary if it is missing."""
    found: object = tables
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _string_or_empty(value: object) -> str:
    return value if isinstance(value, str) else ""


def _strings(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
