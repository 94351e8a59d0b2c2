"""Find installed packages in a project's virtual environment or node_modules, without network access.

Only three kinds of folders are read: the project, its workspace, and environments configured by the user. Links and
paths that lead outside these folders are not followed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import may_read
from deltos.errors import FileRefused, NotFound, SourceError
from deltos.files import FileTree
from deltos.text.similar_names import similar_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_DEFAULT_ENVIRONMENT_FOLDERS = (".venv", "venv", "env", ".env", ".tox/py")
_ENVIRONMENT_MARKER = "pyvenv.cfg"
_WORKSPACE_MARKERS = (".git", "pnpm-workspace.yaml", "lerna.json")
_MAX_METADATA_BYTES = 4_000_000
_MAX_RECORD_BYTES = 20_000_000
_MAX_JSON_BYTES = 10_000_000
DECLARATION_SUFFIXES = (".d.ts", ".d.mts", ".d.cts")
_MAX_NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class PythonDistribution:
    """An installed Python distribution: metadata, and the paths of its files relative to `folder`."""

    name: str
    version: str
    folder: Path
    readme: str
    readme_is_rst: bool
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodePackage:
    """An installed npm package; `folder` is the path of the package without symbolic links.

    `entries` are pairs of an import path and a file, shortest import path first. Both may contain the wildcard `*`.
    """

    name: str
    version: str
    folder: Path
    entries: tuple[tuple[str, str], ...]
    type_packages: tuple[str, ...] = ()  # packages such as `@types/NAME-…` that contain more type declarations


# ---------------------------------------------------------------------- folders of a project


def project_folders(project_root: Path) -> tuple[Path, ...]:
    """Return the resolved project folder and, if there is one, the workspace or repository that contains it."""
    root = project_root.resolve()
    workspace = _find_workspace(root)
    return (root,) if workspace is None or workspace == root else (root, workspace)


def _find_workspace(root: Path) -> Path | None:
    """Return the nearest readable workspace or repository that contains `root`, or None."""
    for folder in (root, *root.parents):
        if folder in (Path(folder.anchor), Path.home()) or not may_read(folder):
            return None
        with FileTree(folder) as tree:
            if any(tree.is_file(mark) or tree.is_folder(mark) for mark in _WORKSPACE_MARKERS):
                return folder
            try:
                if read_json(tree, "package.json").get("workspaces"):
                    return folder
            except SourceError:
                continue
    return None


def _resolve_inside(path: Path, roots: Iterable[Path]) -> Path | None:
    """Resolve the path of a folder. Return None if the folder does not exist or is outside all `roots`."""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None
    return real if may_read(real) and any(real.is_relative_to(root) for root in roots) else None


# ---------------------------------------------------------------------- Python


def find_python_distribution(name: str, project_root: Path, environments: Sequence[Path] = ()) -> PythonDistribution:
    """Return the distribution `name` in the project's environment; raise NotFound if it is not installed."""
    folders = site_packages(project_root, environments)
    if not folders:
        raise NotFound(
            f"No Python environment found for {project_root.name or project_root}",
            hint="Create one in the project, for example: python -m venv .venv, and install its requirements.",
        )
    wanted = normalised_name(name)
    known: list[str] = []
    for folder in folders:
        with FileTree(folder) as tree:
            for dist_info in _dist_info_folders(tree):
                if normalised_name(_distribution_name(dist_info)) == wanted:
                    return _read_distribution(tree, folder, dist_info)
                known.append(normalised_name(_distribution_name(dist_info)))
    raise NotFound(f"{name} is not installed in the project's environment", hint=_install_hint(wanted, known))


def _install_hint(wanted: str, names: Iterable[str]) -> str:
    """Return a hint for a package that is not installed, with similar installed names."""
    near = similar_names(wanted, sorted(set(names)), limit=_MAX_NAMES_SHOWN)
    hint = "Install it there and try again, or add the URL of its documentation."
    return f"{hint} Similar names there: {', '.join(near)}." if near else hint


def python_versions(project_root: Path, environments: Sequence[Path] = ()) -> dict[str, str]:
    """Return the versions of all distributions in the project's environment, by normalised name."""
    found: dict[str, str] = {}
    for folder in site_packages(project_root, environments):
        with FileTree(folder) as tree:
            for dist_info in _dist_info_folders(tree):
                name, _, version = dist_info.removesuffix(".dist-info").rpartition("-")
                found.setdefault(normalised_name(name), version)
    return found


def site_packages(project_root: Path, environments: Sequence[Path] = ()) -> list[Path]:
    """Return the site-packages folders, starting with the project's own environments."""
    root = project_root.resolve()
    chosen = [each.resolve() for each in environments if may_read(each)]
    allowed = (*project_folders(root), *chosen)
    own = [real for name in _environment_names(root) if (real := _resolve_inside(root / name, allowed))]
    return [folder for each in dict.fromkeys((*own, *chosen)) for folder in _site_packages_of(each)]


def _environment_names(root: Path) -> list[str]:
    """Return the names of the folders that may contain a virtual environment."""
    with FileTree(root) as tree:
        try:
            found = [entry.name for entry in tree.entries() if entry.is_folder]
        except FileRefused:
            return []
        marked = [name for name in found if tree.is_file(f"{name}/{_ENVIRONMENT_MARKER}")]
    return list(dict.fromkeys((*_DEFAULT_ENVIRONMENT_FOLDERS, *marked)))


def _site_packages_of(environment: Path) -> Iterator[Path]:
    """Yield the site-packages folders in a virtual environment."""
    with FileTree(environment) as tree:
        try:
            versions = [entry.name for entry in tree.entries("lib") if entry.name.startswith("python")]
        except FileRefused:
            versions = []
        for folder in (*(f"lib/{version}/site-packages" for version in versions), "Lib/site-packages"):
            if tree.is_folder(folder):
                yield environment / folder


def _dist_info_folders(tree: FileTree) -> list[str]:
    """Return the names of the `.dist-info` folders in a site-packages folder."""
    try:
        return [entry.name for entry in tree.entries() if entry.name.endswith(".dist-info") and entry.is_folder]
    except FileRefused:
        return []


def _distribution_name(dist_info: str) -> str:
    return dist_info.removesuffix(".dist-info").rpartition("-")[0]


def _read_distribution(tree: FileTree, folder: Path, dist_info: str) -> PythonDistribution:
    """Return the metadata, README and files of an installed distribution."""
    metadata = tree.read(f"{dist_info}/METADATA", _MAX_METADATA_BYTES).decode("utf-8", "replace")
    headers, body = _parse_headers(metadata.replace("\r\n", "\n"))
    return PythonDistribution(
        name=headers.get("name") or dist_info.split("-")[0],
        version=headers.get("version", ""),
        folder=folder,
        readme=body if body.strip() else headers.get("description", ""),
        readme_is_rst="markdown" not in headers.get("description-content-type", "text/x-rst"),
        files=tuple(_installed_files(tree, dist_info)),
    )


def _parse_headers(text: str) -> tuple[dict[str, str], str]:
    """Return the first value of each header by lower-case name, and the message body."""
    head, _, body = text.partition("\n\n")
    found: dict[str, list[str]] = {}
    last: list[str] = []
    for line in head.split("\n"):
        if line[:1] in (" ", "\t"):
            last.append(line)
            continue
        name, colon, value = line.partition(":")
        last = [value.strip()]
        if colon:
            found.setdefault(name.strip().lower(), last)
    return {name: "\n".join(lines) for name, lines in found.items()}, body


def _read_record(tree: FileTree, dist_info: str) -> list[str]:
    """Return the lines of a distribution's RECORD file, or an empty list if the file cannot be read."""
    try:
        return tree.read(f"{dist_info}/RECORD", _MAX_RECORD_BYTES).decode("utf-8", "replace").splitlines()
    except FileRefused:
        return []


def _installed_files(tree: FileTree, dist_info: str) -> Iterator[str]:
    """Yield the files that a distribution installed in site-packages; scripts are installed elsewhere."""
    for line in _read_record(tree, dist_info):
        path = line.rsplit(",", 2)[0].strip('"')
        if path and ".." not in path.split("/") and not path.startswith("/") and ".dist-info/" not in path:
            yield path


def normalised_name(name: str) -> str:
    """Return the normalised name of a Python package."""
    return re.sub(r"[-_.]+", "-", name).lower()


# ---------------------------------------------------------------------- npm


def find_npm_package(name: str, project_root: Path, importer: Path | None = None) -> NodePackage:
    """Return the npm package `name` from the nearest readable node_modules folder in the project or above it.

    If `importer` is given, the search starts in the folder `importer`, which contains a package that depends on `name`.
    """
    root = project_root.resolve()
    nearest = importer or root
    for folder in (nearest, *nearest.parents):
        if not may_read(folder):
            break
        # Symbolic links are followed only inside the workspace, where package managers create them.
        real = _resolve_inside(folder / "node_modules" / name, (folder, *project_folders(root)))
        if real is not None and _has_manifest(real):
            return _read_node_package(name, real)
    known = _names_in_node_modules(root)
    raise NotFound(
        f"{name} is not in the project's node_modules or the node_modules of a readable parent folder",
        hint=_install_hint(name, known),
    )


def _names_in_node_modules(root: Path) -> list[str]:
    """Return the names of the packages in a folder's node_modules, including scoped packages."""
    with FileTree(root) as tree:
        try:
            names = [entry.name for entry in tree.entries("node_modules") if not entry.name.startswith(".")]
            scopes = [name for name in names if name.startswith("@")]
            scoped = [f"{scope}/{entry.name}" for scope in scopes for entry in tree.entries(f"node_modules/{scope}")]
        except FileRefused:
            return []
    return [*(name for name in names if name not in scopes), *scoped]


def _has_manifest(folder: Path) -> bool:
    with FileTree(folder) as tree:
        return tree.is_file("package.json")


def _read_node_package(name: str, folder: Path) -> NodePackage:
    """Return the description of an npm package in the file package.json."""
    with FileTree(folder) as tree:
        data = read_json(tree, "package.json")
    main = [(".", data.get(key)) for key in ("types", "typings")]
    main_file = data.get("main") or "index.js"
    exported = [*_exported_files(data.get("exports")), *main, (".", "index.d.ts"), (".", main_file)]
    wanted = [(name + subpath[1:], path.removeprefix("./")) for subpath, path in exported if isinstance(path, str)]
    shortest_first = sorted(wanted, key=_entry_rank)
    needed = data.get("dependencies")
    type_packages = tuple(each for each in (needed if isinstance(needed, dict) else ()) if each.startswith(f"{name}-"))
    return NodePackage(name, str(data.get("version") or ""), folder, tuple(shortest_first), type_packages)


def _entry_rank(entry: tuple[str, str]) -> tuple[int, bool, bool]:
    """Return a key that sorts short import paths, type declarations and files for `import` first."""
    specifier, path = entry
    return specifier.count("/"), not path.endswith(DECLARATION_SUFFIXES), path.endswith(".d.cts")


def _exported_files(exports: object) -> Iterator[tuple[str, str]]:
    """Yield the subpath and file of every entry in the `exports` of a package.json file, at any depth."""
    pending: list[tuple[str, object]] = [(".", exports)]
    while pending:
        subpath, value = pending.pop()
        if isinstance(value, str):
            yield subpath, value
        elif isinstance(value, dict):
            inner = [(key if key.startswith(".") else subpath, each) for key, each in value.items()]
            pending += reversed(inner)


def read_json(tree: FileTree, path: str) -> dict[str, object]:
    """Return the JSON object in a file; raise SourceError if the file contains no JSON object."""
    try:
        data = json.loads(tree.read(path, _MAX_JSON_BYTES).decode("utf-8", "replace"))
    except ValueError as exc:
        raise SourceError(f"Cannot read {path} ({exc})") from exc
    except RecursionError:
        raise SourceError(f"Cannot read {path}: it is nested too deeply") from None
    if not isinstance(data, dict):
        raise SourceError(f"{path} is not a JSON object")
    return data
