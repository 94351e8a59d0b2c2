"""All files of these languages as resolution sees them: thin views of stored interfaces, read on demand."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.declared.facts import GoModule, PackageDeclaration, ScopeTypes, SourceInterface
from deltos.domains.graph.declared.imports import absolute_rust, crate_of, home_of
from deltos.domains.graph.declared.shapes import FAMILIES, SHAPES
from deltos.domains.graph.kernel.dependencies import any_called, any_suffixed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.graph.declared.facts import ImportClause
    from deltos.domains.graph.kernel.resolver import NamedSymbol, ProjectFacts

NO_TYPES = ScopeTypes()
_USINGS_FILES = ("GlobalUsings", "Usings", "GlobalUsing", "Globals", "Global", "Imports", "GlobalImports")
"""What files are called that hold the `global using`s of a C# project: other files are not asked for them."""
_STANDARD_CRATES = ("std", "core", "alloc")


class Unit:
    """The interface of one file: its package, top-level definitions, types and imports.

    Imports are sorted by where they hold: a module or function of the file, or (an empty key) the whole of it.
    """

    __slots__ = (
        "exact",
        "file_local",
        "home",
        "imports",
        "kinds",
        "language",
        "macros",
        "modules",
        "package",
        "path",
        "prototypes",
        "scopes",
        "tops",
        "type_keys",
        "wildcards",
    )

    def __init__(self, path: str, language: str, interface: SourceInterface) -> None:
        self.path = path
        self.language = language
        self.package = interface.package
        self.home = home_of(language, path, interface.package)
        self.tops: dict[str, list[str]] = defaultdict(list)
        for top in interface.tops:
            self.tops[top.name].append(top.key)
        self.scopes = interface.scopes
        self.imports = interface.imports
        self.kinds = interface.kinds
        self.macros = interface.macros
        self.type_keys = frozenset(interface.type_keys)
        self.file_local = frozenset(interface.file_local)
        self.prototypes = frozenset(interface.prototypes)
        self.exact: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self.wildcards: defaultdict[str, list[str]] = defaultdict(list)
        self.modules: defaultdict[str, dict[str, str]] = defaultdict(dict)

    def full_name(self, key: str) -> str:
        """The name of a definition with its package."""
        return f"{self.home}.{key}" if self.home and not key.startswith(f"{self.home}.") else key

    def scope(self, key: str) -> ScopeTypes:
        """What the declarations inside a definition say; overloads are told apart by number."""
        return self.scopes.get(key, NO_TYPES)

    def module(self, within: str, alias: str) -> str | None:
        """The package that a name means in a place of the file; None where it means none."""
        for scope in outward(within):
            if scope in self.modules and alias in self.modules[scope]:
                return self.modules[scope][alias]
        return None

    def module_home(self, within: str) -> str:
        """The package of a place in the file: Rust writes modules into files."""
        inner = next((scope for scope in outward(within) if self.kinds.get(scope) == "module"), "")
        return f"{self.home}.{inner}".strip(".") if inner else self.home


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
        self._go_folders: dict[str, list[str]] | None = None
        self._global_usings: dict[str, tuple[ImportClause, ...]] = {}

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

    def go_files(self, folder: str) -> list[str]:
        """The Go files of a folder, tests apart."""
        if self._go_folders is None:
            self._go_folders = defaultdict(list)
            for path in sorted(self.paths):
                if path.endswith(".go") and not path.endswith("_test.go"):
                    self._go_folders[dirname(path)].append(path)
        return self._go_folders.get(folder, [])

    def _sort_imports(self, unit: Unit) -> None:
        """Imports by what they do to names: one name, everything of a package, a package under a name."""
        for clause in (*unit.imports, *(self._global_imports(unit.path) if unit.language == "csharp" else ())):
            full = self.absolute(unit, clause.name, clause.within)
            alias = clause.alias
            if clause.how == "all":
                unit.wildcards[clause.within].append(full)
            elif clause.how in ("name", "member"):
                unit.exact[clause.within][alias] = full
                unit.modules[clause.within].setdefault(alias, full)
            elif clause.how == "module":
                unit.modules[clause.within][self._go_name(full, alias) if unit.language == "go" else alias] = full

    def _global_imports(self, path: str) -> tuple[ImportClause, ...]:
        """The `global using`s of the C# project that a file is of: those of files called for it."""
        project = self._csharp_project(path)
        if project not in self._global_usings:
            found: list[ImportClause] = []
            for usings in self._usings_files:
                interface = self.project.interface(usings) if self._csharp_project(usings) == project else None
                clauses = interface.imports if isinstance(interface, SourceInterface) else ()
                found += [clause for clause in clauses if clause.is_global]
            self._global_usings[project] = tuple(found)
        return self._global_usings[project]

    @cached_property
    def _usings_files(self) -> list[str]:
        return [path for path in sorted(self.paths) if path.endswith(".cs") and _is_for_usings(path)]

    def _csharp_project(self, path: str) -> str:
        """The nearest folder around a file that holds a project of C#; the root where none does."""
        folder = dirname(path)
        while folder and folder not in self._csharp_folders:
            folder = dirname(folder)
        return folder

    @cached_property
    def _csharp_folders(self) -> frozenset[str]:
        return frozenset(dirname(path) for path in self.paths if path.endswith(".csproj"))

    def absolute(self, unit: Unit, name: str, within: str = "") -> str:
        """An imported name counted from the project's root."""
        if unit.language == "rust":
            return absolute_rust(name, unit.module_home(within), crate_of(unit.path), self.paths, self.crates)
        return self.go_package(name) if unit.language == "go" else name

    def _go_name(self, package: str, alias: str) -> str:
        """The name of a Go package that is imported without one: what its files say, not what its folder is called."""
        if not alias.startswith("/"):
            return alias
        for path in self.go_files(package.replace(".", "/")) if not package.startswith("//") else ():
            interface = self.project.interface(path)
            if isinstance(interface, SourceInterface) and interface.package:
                return interface.package
        return alias.removeprefix("/")

    def layout_dependencies(self, language: str) -> list[str]:
        """What all files of a language depend on: the manifests and roots that give packages their names."""
        if language == "go":
            return [any_called("go"), *self.by_file_name("go.mod")]
        if language == "csharp":
            return [*map(any_called, _USINGS_FILES), any_suffixed("csproj"), *self._usings_files]
        return [any_called("lib"), any_called("Cargo"), *self.by_file_name("Cargo.toml")] if language == "rust" else []

    @cached_property
    def crates(self) -> dict[str, str]:
        """The folder of each crate's root, dotted, by the name that its Cargo.toml gives it; of several the first."""
        found: dict[str, str] = {}
        for manifest in self.by_file_name("Cargo.toml"):
            declared = self.project.interface(manifest)
            if isinstance(declared, PackageDeclaration) and declared.sources:
                root = normpath(join(dirname(manifest), declared.sources[0]))
                if root in self.paths:
                    found.setdefault(declared.name, dirname(root).replace("/", "."))
        return found

    @cached_property
    def outside_crates(self) -> frozenset[str]:
        """The crates that manifests require and the project does not define, as paths name them."""
        required = set(_STANDARD_CRATES)
        for manifest in self.by_file_name("Cargo.toml"):
            declared = self.project.interface(manifest)
            if isinstance(declared, PackageDeclaration):
                required.update(name.replace("-", "_") for name in declared.requires)
        return frozenset(required - {name.replace("-", "_") for name in self.crates})

    def go_package(self, name: str) -> str:
        """The folder of the project that a Go import path means, dotted; marked `//` when it is not of the project."""
        for manifest in self.by_file_name("go.mod"):
            module = self.project.interface(manifest)
            if isinstance(module, GoModule) and f"{name}/".startswith(f"{module.name}/"):
                folder = manifest.rpartition("/")[0]
                return f"{folder}/{name[len(module.name) + 1 :]}".strip("/").replace("/", ".")
        return f"//{name}"


def _is_for_usings(path: str) -> bool:
    return path.rpartition("/")[2].partition(".")[0] in _USINGS_FILES


def outward(key: str) -> Iterator[str]:
    """A key and those of all that stands around it, ending with the file's own, which is empty."""
    while key:
        yield key
        key = key.rpartition(".")[0]
    yield ""


def family_of(language: str) -> str:
    """Which languages' definitions a language sees."""
    return FAMILIES.get(language, language)
