"""Find the file to which a dotted module name in an import refers."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

SUFFIXES = (".py", ".pyi")


class Layout:
    """The Python files of a project as packages, plain modules and namespace folders."""

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = paths if isinstance(paths, (set, frozenset, dict)) else frozenset(paths)
        self._found: dict[tuple[str, str], str | None] = {}
        self._search_paths: dict[str, tuple[str, ...]] = {}

    @cached_property
    def folders(self) -> frozenset[str]:
        """Folders that contain a Python file, directly or in a subfolder."""
        found: set[str] = set()
        for path in self._paths:
            if path.endswith(SUFFIXES):
                folder = path.rpartition("/")[0]
                while folder and folder not in found:
                    found.add(folder)
                    folder = folder.rpartition("/")[0]
        return frozenset(found)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """Folders that contain top-level packages, starting with the project root."""
        found = {"src"} & self.folders
        for path in self._paths:
            # A folder with a pyproject.toml is an import root, even if its packages have no indexed `__init__.py`.
            if path.endswith("/pyproject.toml"):
                folder = path.rpartition("/")[0]
                found |= {folder, f"{folder}/src"} & self.folders
        for folder in self.folders:
            parent = folder.rpartition("/")[0]
            if self.is_package(folder) and not self.is_package(parent):
                found.add(parent)
        return ("", *sorted(found - {""}, key=lambda root: (root.count("/"), root)))

    def is_package(self, folder: str) -> bool:
        """Whether a folder has an `__init__` file."""
        prefix = f"{folder}/" if folder else ""
        return f"{prefix}__init__.py" in self._paths or f"{prefix}__init__.pyi" in self._paths

    def resolve_absolute(self, module: str, importer: str) -> str | None:
        """Return the file or folder to which an absolute import refers, or None if it is external."""
        folder = importer.rpartition("/")[0]
        key = (folder, module)
        if key not in self._found:
            self._found[key] = self._find_absolute(module, folder)
        return self._found[key]

    def resolve_relative(self, module: str, level: int, importer: str) -> str | None:
        """Return the file or folder that a relative import refers to, or None if it does not exist."""
        folder = importer.rpartition("/")[0]
        for _ in range(level - 1):
            if not folder:
                return None
            folder = folder.rpartition("/")[0]
        if not module:
            return self.find_module(folder)
        return self.find_in_folder(folder, module)

    def find_in_folder(self, folder: str, module: str) -> str | None:
        """Return the file or folder to which a dotted module name refers, relative to `folder`."""
        prefix = f"{folder}/" if folder else ""
        return self.find_module(prefix + module.replace(".", "/"))

    def find_module(self, stem: str) -> str | None:
        """Return the file at a module path without its suffix, or the folder if it is a namespace package."""
        for candidate in (f"{stem}/__init__.py", f"{stem}.py", f"{stem}/__init__.pyi", f"{stem}.pyi"):
            if candidate in self._paths:
                return candidate.removeprefix("/")
        return stem if stem in self.folders else None

    def _find_absolute(self, module: str, folder: str) -> str | None:
        """Search for an absolute import; regular packages take precedence over namespace packages."""
        top = module.partition(".")[0]
        as_namespace = None
        for root in self._search_path(folder):
            start = self.find_in_folder(root, top)
            if start is None:
                continue
            found = self.find_in_folder(root, module)
            if start.endswith(SUFFIXES):
                return found
            as_namespace = as_namespace or found
        # A folder without `__init__` does not shadow a standard library module of the same name.
        return as_namespace if top not in sys.stdlib_module_names else None

    def _search_path(self, folder: str) -> tuple[str, ...]:
        """Return the folders in which an absolute import from `folder` is searched, in order."""
        known = self._search_paths.get(folder)
        if known is None:
            known = self._search_paths[folder] = tuple(
                dict.fromkeys([*self._folders_outside_packages(folder), *self.roots])
            )
        return known

    def _folders_outside_packages(self, folder: str) -> Iterator[str]:
        """Yield a folder and its parent folders that are not packages, nearest first."""
        while True:
            if not self.is_package(folder):
                yield folder
            if not folder:
                return
            folder = folder.rpartition("/")[0]
