"""Which packages a project really uses: found in its virtual environment or node_modules, never asked of a network."""

from __future__ import annotations

import email.parser
import json
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.errors import NotFound, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from email.message import Message
    from pathlib import Path

_USUAL_ENVIRONMENTS = (".venv", "venv", "env", ".env", ".tox/py")
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)")
_MOST_INCLUDES = 20


@dataclass(frozen=True, slots=True)
class PythonDistribution:
    """An installed Python distribution: its metadata and the files it brought."""

    name: str
    version: str
    folder: Path
    readme: str
    readme_is_rst: bool
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodePackage:
    """An installed npm package."""

    name: str
    version: str
    folder: Path
    types: tuple[str, ...]
    main: str


def find_python(name: str, project_root: Path, environments: Sequence[Path] = ()) -> PythonDistribution:
    """The distribution called `name` in the project's environment; says where it looked when there is none."""
    folders = list(site_packages(project_root, environments))
    if not folders:
        raise NotFound(
            f"No Python environment found for {project_root.name or project_root}",
            hint="Create one in the project, for example: python -m venv .venv, and install its requirements.",
        )
    wanted = same_name(name)
    for folder in folders:
        for info in folder.glob("*.dist-info"):
            if same_name(info.name.removesuffix(".dist-info").rpartition("-")[0]) == wanted:
                return _distribution(info)
    raise NotFound(f"{name} is not installed in the project's environment", hint="Install it there, then try again.")


def distribution_of(module: str, project_root: Path, environments: Sequence[Path] = ()) -> str:
    """The installed distribution that brings a top-level module: `PyYAML` for `yaml`; empty when none does."""
    first_files = (f"{module}/__init__.py,", f"{module}.py,", f"{module}/__init__.pyi,")
    for folder in site_packages(project_root, environments):
        for info in sorted(folder.glob("*.dist-info")):
            record = info / "RECORD"
            lines = record.read_text("utf-8", "replace").splitlines() if record.is_file() else []
            if any(line.startswith(first_files) for line in lines):
                return info.name.removesuffix(".dist-info").rpartition("-")[0]
    return ""


def site_packages(project_root: Path, environments: Sequence[Path] = ()) -> Iterable[Path]:
    """The folders of installed packages: of the project's own environments first, then of the given ones."""
    usual = [project_root / name for name in _USUAL_ENVIRONMENTS]
    others = sorted(path.parent for path in project_root.glob("*/pyvenv.cfg"))
    for environment in dict.fromkeys((*usual, *others, *environments)):
        for pattern in ("lib/python*/site-packages", "Lib/site-packages"):
            yield from sorted(environment.glob(pattern))


def _distribution(info: Path) -> PythonDistribution:
    metadata = _message(info / "METADATA")
    body = metadata.get_payload()
    readme = body if isinstance(body, str) and body.strip() else str(metadata.get("Description") or "")
    return PythonDistribution(
        name=str(metadata.get("Name") or info.name.split("-")[0]),
        version=str(metadata.get("Version") or ""),
        folder=info.parent,
        readme=readme,
        readme_is_rst="markdown" not in str(metadata.get("Description-Content-Type") or "text/x-rst"),
        files=tuple(_recorded(info)),
    )


def _message(path: Path) -> Message:
    try:
        return email.parser.Parser().parsestr(path.read_text("utf-8", "replace"))
    except OSError as exc:
        raise SourceError(f"Cannot read {path.name} of the package ({exc.strerror})") from exc


def _recorded(info: Path) -> Iterable[str]:
    try:
        lines = (info / "RECORD").read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        path = line.rsplit(",", 2)[0].strip('"')
        if path and not path.startswith(("..", "/")) and ".dist-info/" not in path:
            yield path


def find_node(name: str, project_root: Path) -> NodePackage:
    """The npm package called `name`, from the nearest node_modules at or above the project."""
    for folder in (project_root, *project_root.parents):
        manifest = folder / "node_modules" / name / "package.json"
        if manifest.is_file():
            return _node_package(name, manifest)
    raise NotFound(
        f"{name} is not in the project's node_modules", hint="Install it there (npm install), then try again."
    )


def _node_package(name: str, manifest: Path) -> NodePackage:
    data = read_json(manifest)
    types = [data.get("types"), data.get("typings"), *_exported_types(data.get("exports"))]
    return NodePackage(
        name=name,
        version=str(data.get("version") or ""),
        folder=manifest.parent,
        types=tuple(dict.fromkeys(path for path in types if isinstance(path, str))),
        main=str(data.get("main") or "index.js"),
    )


def _exported_types(exports: object) -> Iterable[str]:
    """Every `types` entry of a package's exports, however deep."""
    if isinstance(exports, dict):
        for key, value in exports.items():
            if key == "types" and isinstance(value, str):
                yield value
            else:
                yield from _exported_types(value)


def read_json(path: Path) -> dict[str, object]:
    """A JSON object from a file; refuses anything else."""
    try:
        data = json.loads(path.read_text("utf-8", "replace"))
    except (OSError, ValueError) as exc:
        raise SourceError(f"Cannot read {path.name} ({exc})") from exc
    if not isinstance(data, dict):
        raise SourceError(f"{path.name} is not a JSON object")
    return data


def direct_dependencies(project_root: Path) -> list[str]:
    """What the project itself requires, as addresses `pypi:NAME` and `npm:NAME`, each once."""
    python = [*_pyproject(project_root / "pyproject.toml")]
    for path in sorted(project_root.glob("requirements*.txt")):
        python += _requirements(path, set())
    names = dict.fromkeys(same_name(name) for name in python)
    return [f"pypi:{name}" for name in names] + [f"npm:{name}" for name in _package_json(project_root / "package.json")]


def _pyproject(path: Path) -> Iterable[str]:
    if not path.is_file():
        return []
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as exc:
        raise SourceError(f"Cannot read {path.name} ({exc})") from exc
    project = data.get("project") or {}
    groups = [project.get("dependencies") or [], *(project.get("optional-dependencies") or {}).values()]
    groups += (data.get("dependency-groups") or {}).values()
    named = [line for group in groups for line in group if isinstance(line, str)]
    poetry = ((data.get("tool") or {}).get("poetry") or {}).get("dependencies") or {}
    return [found.group(1) for line in named if (found := _REQUIREMENT.match(line))] + [
        n for n in poetry if n != "python"
    ]


def _requirements(path: Path, seen: set[Path]) -> list[str]:
    """Names in a requirements file and the files it includes."""
    if path in seen or len(seen) > _MOST_INCLUDES or not path.is_file():
        return []
    seen.add(path)
    names: list[str] = []
    for line in path.read_text("utf-8", "replace").splitlines():
        stripped = line.split(" #")[0].strip()
        if stripped.startswith(("-r ", "--requirement ")):
            names += _requirements(path.parent / stripped.split(maxsplit=1)[1], seen)
        elif not stripped.startswith(("#", "-", ".", "/")) and "://" not in stripped.split("@")[0]:
            found = _REQUIREMENT.match(stripped)
            names += [found.group(1)] if found else []
    return names


def _package_json(path: Path) -> list[str]:
    if not path.is_file():
        return []
    data = read_json(path)
    groups = [data.get("dependencies"), data.get("devDependencies")]
    return list(dict.fromkeys(name for group in groups if isinstance(group, dict) for name in group))


def same_name(name: str) -> str:
    """The one form of a Python package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()
