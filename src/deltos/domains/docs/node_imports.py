"""Determine how users import the definitions of an npm package, such as `import { setCookie } from "hono/cookie"`."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.docs.node_links import ALL_NAMES, DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deltos.domains.docs.node_links import LinkedFile

_MAX_EXPORT_PATHS = 4  # maximum number of import paths per file
_MAX_REEXPORTING_FILES = 16  # maximum number of files searched for the definition of one re-exported name


class PackageImport(NamedTuple):
    """Import of a public name, or of the namespace object that contains the name.

    `has_shorter_import` marks a nested import path, or a name that can also be imported from the main entry.
    """

    specifier: str
    namespace: str
    name: str
    has_shorter_import: bool = False

    def statement(self, own_name: str, *, is_type: bool) -> str:
        """Return the import statement; a default export is imported under `own_name`."""
        keyword = "import type" if is_type else "import"
        if self.namespace:
            return f'import {{ {self.namespace} }} from "{self.specifier}";  // {self.namespace}.{self.name}'
        if self.name == DEFAULT:
            return f'{keyword} {own_name} from "{self.specifier}";'
        return f'{keyword} {{ {self.name} }} from "{self.specifier}";'


class _ExportPath(NamedTuple):
    """Import path from which all names in a file can be imported; `namespace` may be empty."""

    specifier: str
    namespace: str


def shortest_imports(
    files: Mapping[str, LinkedFile], entries: Iterable[tuple[str, str]], package: str
) -> dict[str, dict[str, PackageImport]]:
    """Return the shortest import of each public name, by file and name; `entries` are pairs of specifier and file.

    Returns an empty mapping if the main entry exports no names.
    """
    found: defaultdict[str, defaultdict[str, list[PackageImport]]] = defaultdict(lambda: defaultdict(list))
    paths = _export_paths(files, entries)
    for path, reached in paths.items():
        for export_path in reached:
            for name in files[path].declared_names:
                found[path][name].append(PackageImport(export_path.specifier, export_path.namespace, name))
            for export in files[path].exports:
                if export.name != ALL_NAMES and export.alias:
                    for origin in _reexporting_files(files, path, export.module, export.name):
                        local = _local_name(files[origin], export.name)
                        found[origin][local].append(
                            PackageImport(export_path.specifier, export_path.namespace, export.alias)
                        )
    root_names = {
        each.name
        for names in found.values()
        for imports in names.values()
        for each in imports
        if each.specifier == package and not each.namespace
    }
    if not root_names:
        return {}
    return {
        path: {
            name: _mark_deep_import(min(imports, key=_import_sort_key), root_names, package)
            for name, imports in names.items()
        }
        for path, names in found.items()
    }


def _export_paths(files: Mapping[str, LinkedFile], entries: Iterable[tuple[str, str]]) -> dict[str, list[_ExportPath]]:
    """Return the import paths of each entry file and of each file that an entry file re-exports with `export *`."""
    paths: defaultdict[str, list[_ExportPath]] = defaultdict(list)
    queue = deque((path, _ExportPath(specifier, "")) for specifier, path in entries)
    while queue:
        path, export_path = queue.popleft()
        if path not in files or export_path in paths[path] or len(paths[path]) >= _MAX_EXPORT_PATHS:
            continue
        paths[path].append(export_path)
        for export in files[path].exports:
            target = files[path].targets.get(export.module, "")
            if export.name != ALL_NAMES or export.alias == DEFAULT:
                continue
            if not export.alias:
                queue.append((target, export_path))
            elif not export_path.namespace:
                queue.append((target, _ExportPath(export_path.specifier, export.alias)))
    return {path: reached for path, reached in paths.items() if reached}


def _reexporting_files(files: Mapping[str, LinkedFile], path: str, module: str, name: str) -> list[str]:
    """Return the files through which a name is re-exported, up to the file that may define it."""
    reexporting: list[str] = []
    queue = deque([files[path].targets.get(module, "") if module else path])
    while queue and len(reexporting) < _MAX_REEXPORTING_FILES:
        file = queue.popleft()
        if file in reexporting or file not in files:
            continue
        reexporting.append(file)
        for export in files[file].exports:
            is_same_name = export.alias == name and export.name == name
            if export.module and (is_same_name or (export.name == ALL_NAMES and not export.alias)):
                queue.append(files[file].targets.get(export.module, ""))
    return reexporting


def _local_name(file: LinkedFile, name: str) -> str:
    """Return the local name of a file's default export; other names are returned unchanged."""
    if name != DEFAULT:
        return name
    return next((each.name for each in file.exports if each.alias == DEFAULT and not each.module), name)


def _import_sort_key(export_path: PackageImport) -> tuple[bool, int, bool, int]:
    """Return a sort key that puts the import with the shortest path first."""
    return (
        bool(export_path.namespace),
        export_path.specifier.count("/"),
        export_path.name == DEFAULT,
        len(export_path.specifier),
    )


def _mark_deep_import(export_path: PackageImport, root_names: set[str], package: str) -> PackageImport:
    """Set `has_shorter_import` if the main entry exports the same name or the import path is nested."""
    is_nested = export_path.specifier.removeprefix(package).count("/") > 1 or bool(export_path.namespace)
    return export_path._replace(
        has_shorter_import=is_nested or (export_path.specifier != package and export_path.name in root_names)
    )
