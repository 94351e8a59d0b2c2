"""Path mappings: `baseUrl` and `paths` of the nearest tsconfig.json."""

from __future__ import annotations

from dataclasses import dataclass
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.facts import ConfigManifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deltos.domains.graph.typescript.facts import Manifest

_CONFIG_NAMES = ("tsconfig.json", "jsconfig.json")
_MAX_EXTENDS = 12


@dataclass(frozen=True, slots=True)
class PathMapping:
    """Folders and patterns for resolving import specifiers that are not relative.

    `paths` are relative to `paths_base`.
    """

    base: str | None = None
    paths: tuple[tuple[str, tuple[str, ...]], ...] = ()
    paths_base: str = ""

    def candidates(self, specifier: str) -> tuple[list[str], bool]:
        """Return the paths to which an import specifier may refer, and whether a pattern other than `*` matches it."""
        targets = dict(self.paths)
        best, middle = best_pattern(targets, specifier)
        found = [
            normpath(join(self.paths_base, target.replace("*", middle, 1)))
            for target in (targets[best] if best is not None else ())
        ]
        if self.base is not None:
            found.append(normpath(join(self.base, specifier)))
        return found, best is not None and best != "*"


def best_pattern(patterns: Iterable[str], name: str) -> tuple[str | None, str]:
    """Return the most specific pattern that matches a name, and the part of the name that matches its `*`."""
    best, middle, longest = None, "", -1
    for pattern in patterns:
        if pattern == name:
            return pattern, ""
        prefix, star, suffix = pattern.partition("*")
        fits = len(name) >= len(prefix) + len(suffix) and name.startswith(prefix) and name.endswith(suffix)
        if star and fits and len(prefix) > longest:
            best, middle, longest = pattern, name[len(prefix) : len(name) - len(suffix)], len(prefix)
    return best, middle


class TsConfigs:
    """The path mapping that applies in each folder."""

    def __init__(self, manifest: Callable[[str], Manifest | None]) -> None:
        self._manifest = manifest

    def mapping(self, folder: str) -> PathMapping:
        """Return the mapping of the nearest configuration at or above a folder."""
        while True:
            for name in _CONFIG_NAMES:
                path = join(folder, name)
                if self._config_manifest(path) is not None:
                    return self._resolve_mapping(path)
            if not folder:
                return PathMapping()
            folder = dirname(folder)

    def _config_manifest(self, path: str) -> ConfigManifest | None:
        found = self._manifest(path)
        return found if isinstance(found, ConfigManifest) else None

    def _resolve_mapping(self, path: str) -> PathMapping:
        """Return the mapping of a configuration, or of the first referenced project that has one."""
        mapping = self._extended_mapping(path, 0)
        if mapping.base is None and not mapping.paths:
            config = self._config_manifest(path)
            for reference in config.references if config is not None else ():
                target = normpath(join(dirname(path), reference))
                other = self._extended_mapping(target if target.endswith(".json") else join(target, "tsconfig.json"), 0)
                if other.base is not None or other.paths:
                    return other
        return mapping

    def _extended_mapping(self, path: str, depth: int) -> PathMapping:
        """Return the mapping of a configuration, including options inherited with `extends`."""
        content = self._config_manifest(path)
        if content is None or depth > _MAX_EXTENDS:
            return PathMapping()
        folder = dirname(path)
        inherited = PathMapping()
        for parent in content.extends:
            if parent.startswith("."):
                inherited = _merge_mappings(
                    self._extended_mapping(self._parent_path(folder, parent), depth + 1), inherited
                )
        base = normpath(join(folder, content.base)) if content.base is not None else None
        own = PathMapping(_normalise_root(base), tuple(content.paths.items()), _normalise_root(base) or folder)
        return _merge_mappings(own, inherited)

    def _parent_path(self, folder: str, parent: str) -> str:
        path = normpath(join(folder, parent))
        return path if path.endswith(".json") else path + ".json"


def _normalise_root(path: str | None) -> str | None:
    """Return a path, or an empty string if the path is `.`, the project root."""
    return "" if path == "." else path


def _merge_mappings(own: PathMapping, inherited: PathMapping) -> PathMapping:
    """Return a mapping whose missing options are taken from the inherited mapping."""
    base = own.base if own.base is not None else inherited.base
    return (
        PathMapping(base, own.paths, own.paths_base)
        if own.paths
        else PathMapping(base, inherited.paths, inherited.paths_base)
    )
