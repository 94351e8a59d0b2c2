"""Where users import what declaration files of an npm package define: `import { setCookie } from "hono/cookie"`."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.docs.node_links import DEFAULT, EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deltos.domains.docs.node_links import LinkedFile

_MOST_WAYS = 4  # to one file; the first are by the nearest entries
_MOST_STEPS = 16  # of a name through files that pass it on


class ImportedName(NamedTuple):
    """A name as users import it. `namespace` is what they import where the name is a member of that; `is_elsewhere`
    says that the package has something nearer."""

    specifier: str
    namespace: str
    name: str
    is_elsewhere: bool = False

    def statement(self, own_name: str, *, is_type: bool) -> str:
        """The import that a user writes; a default export by its own name."""
        keyword = "import type" if is_type else "import"
        if self.namespace:
            return f'import {{ {self.namespace} }} from "{self.specifier}";  // {self.namespace}.{self.name}'
        if self.name == DEFAULT:
            return f'{keyword} {own_name} from "{self.specifier}";'
        return f'{keyword} {{ {self.name} }} from "{self.specifier}";'


class _Way(NamedTuple):
    """How a whole file is reached: `export *` chains from an entry, perhaps under a namespace."""

    specifier: str
    namespace: str


def imported_names(
    files: Mapping[str, LinkedFile], entries: Iterable[tuple[str, str]], package: str
) -> dict[str, dict[str, ImportedName]]:
    """By file and name in it, the nearest import of what users can import; `entries` are specifiers with their files.

    Empty where the main entry exports nothing by name: how such a package is imported is not told by its files.
    """
    found: defaultdict[str, defaultdict[str, list[ImportedName]]] = defaultdict(lambda: defaultdict(list))
    ways = _ways(files, entries)
    for path, reached in ways.items():
        for way in reached:
            for name in files[path].declared:
                found[path][name].append(ImportedName(way.specifier, way.namespace, name))
            for export in files[path].exports:
                if export.name != EVERYTHING and export.alias:
                    for place in _passed_through(files, path, export.module, export.name):
                        local = _local_name(files[place], export.name)
                        found[place][local].append(ImportedName(way.specifier, way.namespace, export.alias))
    at_root = {
        each.name
        for names in found.values()
        for every in names.values()
        for each in every
        if each.specifier == package and not each.namespace
    }
    if not at_root:
        return {}
    return {
        path: {name: _placed(min(every, key=_distance), at_root, package) for name, every in names.items()}
        for path, names in found.items()
    }


def _ways(files: Mapping[str, LinkedFile], entries: Iterable[tuple[str, str]]) -> dict[str, list[_Way]]:
    ways: defaultdict[str, list[_Way]] = defaultdict(list)
    waiting = deque((path, _Way(specifier, "")) for specifier, path in entries)
    while waiting:
        path, way = waiting.popleft()
        if path not in files or way in ways[path] or len(ways[path]) >= _MOST_WAYS:
            continue
        ways[path].append(way)
        for export in files[path].exports:
            target = files[path].targets.get(export.module, "")
            if export.name != EVERYTHING or export.alias == DEFAULT:
                continue
            if not export.alias:
                waiting.append((target, way))
            elif not way.namespace:
                waiting.append((target, _Way(way.specifier, export.alias)))
    return {path: reached for path, reached in ways.items() if reached}


def _passed_through(files: Mapping[str, LinkedFile], path: str, module: str, name: str) -> list[str]:
    """The files that a name passes through, from the one that exports it to the one that may define it."""
    places: list[str] = []
    waiting = deque([files[path].targets.get(module, "") if module else path])
    while waiting and len(places) < _MOST_STEPS:
        place = waiting.popleft()
        if place in places or place not in files:
            continue
        places.append(place)
        for export in files[place].exports:
            is_it = export.alias == name and export.name == name
            if export.module and (is_it or (export.name == EVERYTHING and not export.alias)):
                waiting.append(files[place].targets.get(export.module, ""))
    return places


def _local_name(file: LinkedFile, name: str) -> str:
    """What a file calls its default export."""
    if name != DEFAULT:
        return name
    return next((each.name for each in file.exports if each.alias == DEFAULT and not each.module), name)


def _distance(way: ImportedName) -> tuple[bool, int, bool, int]:
    return (bool(way.namespace), way.specifier.count("/"), way.name == DEFAULT, len(way.specifier))


def _placed(way: ImportedName, at_root: set[str], package: str) -> ImportedName:
    """Whether something nearer is meant first: the same name of the main entry, or all that lies less deep."""
    is_nested = way.specifier.removeprefix(package).count("/") > 1 or bool(way.namespace)
    return way._replace(is_elsewhere=is_nested or (way.specifier != package and way.name in at_root))
