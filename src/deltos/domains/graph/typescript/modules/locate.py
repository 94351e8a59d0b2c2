"""Locate the file to which an import specifier refers, by the rules of TypeScript and Node.

This module handles extensions and index files. See `path_mappings` for tsconfig.json and `packages` for package.json.
"""

from __future__ import annotations

from dataclasses import dataclass
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING

from deltos.domains.graph.kernel.dependencies import external_package, files_named
from deltos.domains.graph.typescript.facts import MANIFESTS
from deltos.domains.graph.typescript.modules.packages import Packages, package_name
from deltos.domains.graph.typescript.modules.path_mappings import TsConfigs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deltos.domains.graph.kernel.resolver import ProjectFacts
    from deltos.domains.graph.typescript.facts import Manifest

_EXTENSIONS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs", ".json")
_SOURCE_EXTENSIONS = {
    ".js": (".ts", ".tsx", ".d.ts", ".js", ".jsx"),
    ".jsx": (".tsx", ".ts", ".d.ts", ".jsx", ".js"),
    ".mjs": (".mts", ".d.mts", ".mjs", ".ts"),
    ".cjs": (".cts", ".d.cts", ".cjs", ".ts"),
}


@dataclass(frozen=True, slots=True)
class Located:
    """Result of locating an import specifier; `path` is None if the target is external or missing from the project."""

    path: str | None
    is_external: bool = False


class Locator:
    """Finder of files by import specifier, which records every checked path as a dependency."""

    def __init__(self, project: ProjectFacts, depend: Callable[[Iterable[str]], None]) -> None:
        self._project = project
        self._paths = frozenset(project.paths())
        self._depend = depend
        self._known: dict[tuple[str, str], tuple[Located, frozenset[str]]] = {}
        self._dependencies: set[str] = set()
        self._manifests: dict[str, Manifest | None] = {}
        self._configs = TsConfigs(self._manifest)
        self._packages = Packages(self._paths, self._manifest)

    def locate(self, importer: str, specifier: str) -> Located:
        """Return the file to which an import specifier refers in the file `importer`."""
        known = self._known.get((importer, specifier))
        if known is None:
            self._dependencies = set()
            found = self._locate(dirname(importer), specifier.partition("?")[0])
            known = self._known[(importer, specifier)] = (found, frozenset(self._dependencies))
        self._depend(known[1])
        return known[0]

    def _locate(self, folder: str, specifier: str) -> Located:
        """Locate a specifier: a relative path, a `#` import, a mapped path or a package name."""
        if specifier.startswith(("./", "../")) or specifier in (".", ".."):
            return Located(self._find_file(normpath(join(folder, specifier))))
        if specifier.startswith("#"):
            own = self._packages.subpath_import_targets(folder, specifier)
            found = self._find_first_file(own)
            if found is not None or own:
                return Located(found, is_external=any(not path.startswith(".") for path in own))
        candidates, is_claimed = self._configs.mapping(folder).candidates(specifier)
        found = self._find_first_file(candidates)
        if found is None and not specifier.startswith(("node:", "#", "/")):
            self._dependencies.update((files_named("package"), *self._packages.manifests))
            found = self._find_first_file(self._packages.entry_points(specifier))
            if found is None:
                self._dependencies.add(external_package(package_name(specifier)))
        return Located(found, is_external=found is None and not is_claimed)

    def _find_first_file(self, candidates: list[str]) -> str | None:
        """Return the first existing source file among candidate paths."""
        return next((found for path in candidates if (found := self._find_file(path)) is not None), None)

    def _manifest(self, path: str) -> Manifest | None:
        """Return the facts of a package.json or tsconfig.json, or None if the file is missing or invalid."""
        if not self._exists(path):
            return None
        if path not in self._manifests:
            found = self._project.interface(path)
            self._manifests[path] = found if isinstance(found, MANIFESTS) else None
        return self._manifests[path]

    def _exists(self, path: str) -> bool:
        """Record a path as a dependency and return whether the project contains the file."""
        self._dependencies.add(path)
        return path in self._paths

    def _find_file(self, path: str) -> str | None:
        """Return the source file for a path, trying extensions and index files."""
        return next((candidate for candidate in _candidates(path) if self._exists(candidate)), None)


def _candidates(path: str) -> Iterator[str]:
    """Yield the files to which a path may refer, best first."""
    written = path[path.rfind(".") :] if "." in path.rpartition("/")[2] else ""
    if written in _SOURCE_EXTENSIONS:
        yield from (path[: -len(written)] + extension for extension in _SOURCE_EXTENSIONS[written])
    elif written:
        yield path
    if path in (".", ""):
        path = ""
    else:
        yield from (path + extension for extension in _EXTENSIONS)
        path += "/"
    yield from (f"{path}index{extension}" for extension in _EXTENSIONS)
