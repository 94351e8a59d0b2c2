"""Packages in the project: the files listed in the `exports`, `imports` and entry fields of package.json."""

from __future__ import annotations

import json
import re
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.facts import PackageManifest
from deltos.domains.graph.typescript.modules.path_mappings import best_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deltos.clients.jsonc import Json
    from deltos.domains.graph.typescript.facts import Manifest

_EXPORT_CONDITIONS = ("source", "types", "import", "module", "default", "node", "require", "browser")
_BUILD_FOLDER = re.compile(r"^(?:dist|lib|build|out|es|esm|cjs|output)(?:/(?:esm|cjs|es|types|src))*/")
_EXTENSION = re.compile(r"(?:\.d)?\.[cm]?[jt]sx?$")


def package_name(specifier: str) -> str:
    """Return the package name in a bare specifier: `@shop/lib` in `@shop/lib/cart`."""
    return "/".join(specifier.split("/")[: 2 if specifier.startswith("@") else 1])


class Packages:
    """Packages whose package.json belongs to the project."""

    def __init__(self, paths: Iterable[str], manifest: Callable[[str], Manifest | None]) -> None:
        self._manifest = manifest
        self.manifests = sorted(path for path in paths if path.rpartition("/")[2] == "package.json")
        self._folders: dict[str, str] | None = None

    def entry_points(self, specifier: str) -> list[str]:
        """Return the files to which a bare specifier (such as `@shop/lib/cart`) may refer, in order of preference."""
        name = package_name(specifier)
        folder = self._folders_by_name().get(name)
        if folder is None:
            return []
        subpath = "." + specifier[len(name) :]
        content = self._package_manifest(join(folder, "package.json"))
        if content is None:
            return []
        return [
            normpath(join(folder, path)) for path in _with_source_paths(_subpath_targets(content, subpath), subpath)
        ]

    def subpath_import_targets(self, folder: str, specifier: str) -> list[str]:
        """Return the files or package names to which a `#name` specifier in a folder's package refers."""
        while True:
            content = self._package_manifest(join(folder, "package.json"))
            if content is not None:
                imports: Json = json.loads(content.imports)
                targets = _matching_targets(imports if isinstance(imports, dict) else {}, specifier)
                return [
                    path if not target.startswith(".") else normpath(join(folder, path))
                    for target in targets
                    for path in (_with_source_paths([target], target) if target.startswith(".") else [target])
                ]
            if not folder:
                return []
            folder = dirname(folder)

    def _folders_by_name(self) -> dict[str, str]:
        if self._folders is None:
            self._folders = {}
            for path in reversed(self.manifests):
                content = self._package_manifest(path)
                if content is not None and content.name:
                    self._folders[content.name] = dirname(path)
        return self._folders

    def _package_manifest(self, path: str) -> PackageManifest | None:
        found = self._manifest(path)
        return found if isinstance(found, PackageManifest) else None


def _subpath_targets(content: PackageManifest, subpath: str) -> list[str]:
    """Return the target paths that a package.json lists for a subpath, `.` or `./name`."""
    exports: Json = json.loads(content.exports)
    if exports is not None:
        if not isinstance(exports, dict) or not any(key.startswith(".") for key in exports):
            exports = {".": exports}
        return _matching_targets(exports, subpath)
    return list(content.entries) if subpath == "." else [subpath]


def _matching_targets(table: dict[str, Json], name: str) -> list[str]:
    """Return the target paths of the most specific key that matches a name."""
    best, middle = best_pattern(table, name)
    return [leaf.replace("*", middle) for leaf in _condition_targets(table[best], 0)] if best is not None else []


def _condition_targets(target: Json, depth: int) -> Iterator[str]:
    """Yield the paths in the nested conditions of an export target, in order of preference."""
    if isinstance(target, str):
        yield target
    elif isinstance(target, list) and depth < 8:
        for part in target:
            yield from _condition_targets(part, depth + 1)
    elif isinstance(target, dict) and depth < 8:
        for condition in sorted(target, key=_condition_rank):
            yield from _condition_targets(target[condition], depth + 1)


def _condition_rank(condition: str) -> int:
    return _EXPORT_CONDITIONS.index(condition) if condition in _EXPORT_CONDITIONS else len(_EXPORT_CONDITIONS)


def _with_source_paths(targets: list[str], subpath: str) -> Iterator[str]:
    """Yield the target paths, then the paths of source files from which they were probably built."""
    yield from targets
    for target in targets:
        path = normpath(target)
        bare = _EXTENSION.sub("", _BUILD_FOLDER.sub("", path))
        yield from (join("src", bare), bare)
    rest = subpath[2:]
    yield from (join("src", rest), rest) if rest else ("src/index", "index")
