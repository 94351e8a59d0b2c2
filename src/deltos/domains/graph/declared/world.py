"""All files of these languages as resolution sees them: thin views of stored interfaces, read on demand."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.declared.facts import GoModule, SourceInterface
from deltos.domains.graph.declared.imports import absolute_rust, crate_of, home_of
from deltos.domains.graph.declared.shapes import FAMILIES, SHAPES
from deltos.domains.graph.kernel.dependencies import any_called

if TYPE_CHECKING:
    from deltos.domains.graph.kernel.resolver import NamedSymbol, ProjectFacts


class Unit:
    """The interface of one file: its package, top-level definitions, types and imports."""

    __slots__ = ("exact", "home", "imports", "language", "modules", "path", "scopes", "tops", "type_keys", "wildcards")

    def __init__(self, path: str, language: str, interface: SourceInterface) -> None:
        self.path = path
        self.language = language
        self.home = home_of(language, path, interface.package)
        self.tops: dict[str, list[str]] = defaultdict(list)
        for top in interface.tops:
            self.tops[top.name].append(top.key)
        self.scopes = interface.scopes
        self.imports = interface.imports
        self.type_keys = frozenset(interface.type_keys)
        self.exact: dict[str, str] = {}
        self.wildcards: list[str] = []
        self.modules: dict[str, str] = {}

    def full_name(self, key: str) -> str:
        """The name of a definition with its package."""
        return f"{self.home}.{key}" if self.home and not key.startswith(f"{self.home}.") else key


class DefinedSymbol(NamedTuple):
    """Where a symbol is defined; an empty key means the file itself."""

    path: str
    key: str


class World:
    """All files of these languages, read on demand."""

    def __init__(self, project: ProjectFacts) -> None:
        self.project = project
        self.paths = project.paths()
        self._units: dict[str, Unit | None] = {}
        self._named: dict[str, list[NamedSymbol]] = {}
        self._by_file_name: dict[str, list[str]] | None = None

    def unit(self, path: str) -> Unit | None:
        """The interface of a file; None when it is not in one of these languages."""
        if path not in self._units:
            language = self.project.language(path)
            interface = self.project.interface(path) if language in SHAPES else None
            unit = Unit(path, language, interface) if isinstance(interface, SourceInterface) else None
            self._units[path] = unit
            if unit is not None:
                self._sort_imports(unit)
        return self._units[path]

    def named(self, name: str) -> list[NamedSymbol]:
        """All symbols of a name, of any language."""
        if name not in self._named:
            self._named[name] = list(self.project.named(name))
        return self._named[name]

    def by_file_name(self, name: str) -> list[str]:
        """All files of a name, wherever they are."""
        if self._by_file_name is None:
            self._by_file_name = defaultdict(list)
            for path in sorted(self.paths):
                self._by_file_name[path.rpartition("/")[2]].append(path)
        return self._by_file_name.get(name, [])

    def _sort_imports(self, unit: Unit) -> None:
        """Imports by what they do to names: one name, everything of a package, a package under a name."""
        for clause in unit.imports:
            full = self._absolute(unit, clause.name)
            if clause.how == "all":
                unit.wildcards.append(full)
            elif clause.how in ("name", "member"):
                unit.exact[clause.alias] = full
                unit.modules.setdefault(clause.alias, full)
            elif clause.how == "module":
                unit.modules[clause.alias] = full

    def _absolute(self, unit: Unit, name: str) -> str:
        if unit.language == "rust":
            return absolute_rust(name, unit.home, crate_of(unit.path), self.paths)
        return self.go_package(name) if unit.language == "go" else name

    def layout_dependencies(self, language: str) -> list[str]:
        """What all files of a language depend on: the manifests and roots that give packages their names."""
        if language == "go":
            return [any_called("go"), *self.by_file_name("go.mod")]
        return [any_called("lib")] if language == "rust" else []

    def go_package(self, name: str) -> str:
        """The folder of the project that a Go import path means, dotted; marked `//` when it is not of the project."""
        for manifest in self.by_file_name("go.mod"):
            module = self.project.interface(manifest)
            if isinstance(module, GoModule) and f"{name}/".startswith(f"{module.name}/"):
                folder = manifest.rpartition("/")[0]
                return f"{folder}/{name[len(module.name) + 1 :]}".strip("/").replace("/", ".")
        return f"//{name}"


def family_of(language: str) -> str:
    """Which languages' definitions a language sees."""
    return FAMILIES.get(language, language)
