"""Source files as the resolver sees them: views of stored interfaces, read on demand."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.declared.facts import GoModule, PackageDeclaration, ScopeTypes, SourceInterface
from deltos.domains.graph.declared.grammars import FAMILIES, GRAMMARS
from deltos.domains.graph.declared.imports import absolute_rust, crate_of, file_package
from deltos.domains.graph.kernel.dependencies import files_named, files_with_suffix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.graph.declared.facts import ImportClause
    from deltos.domains.graph.kernel.resolver import NamedSymbol, ProjectFacts

NO_TYPES = ScopeTypes()
_USINGS_FILES = ("GlobalUsings", "Usings", "GlobalUsing", "Globals", "Global", "Imports", "GlobalImports")
"""File names that may contain `global using` directives of a C# project; other files are not searched for them."""
_STANDARD_CRATES = ("std", "core", "alloc")


class SourceFile:
    """Interface of one file: its package, top-level definitions, types and imports.

    Imports are grouped by their scope: a module or function of the file, or the empty key for the whole file.
    """

    __slots__ = (
        "file_local",
        "imported_names",
        "imports",
        "kinds",
        "language",
        "macros",
        "modules",
        "package",
        "package_path",
        "path",
        "prototypes",
        "scopes",
        "top_level",
        "type_keys",
        "wildcards",
    )

    def __init__(self, path: str, language: str, interface: SourceInterface) -> None:
        self.path = path
        self.language = language
        self.package = interface.package
        self.package_path = file_package(language, path, interface.package)
        self.top_level: dict[str, list[str]] = defaultdict(list)
        for top in interface.top_level:
            self.top_level[top.name].append(top.key)
        self.scopes = interface.scopes
        self.imports = interface.imports
        self.kinds = interface.kinds
        self.macros = interface.macros
        self.type_keys = frozenset(interface.type_keys)
        self.file_local = frozenset(interface.file_local)
        self.prototypes = frozenset(interface.prototypes)
        self.imported_names: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self.wildcards: defaultdict[str, list[str]] = defaultdict(list)
        self.modules: defaultdict[str, dict[str, str]] = defaultdict(dict)

    def full_name(self, key: str) -> str:
        """Return the name of a definition with its package."""
        return (
            f"{self.package_path}.{key}" if self.package_path and not key.startswith(f"{self.package_path}.") else key
        )

    def scope(self, key: str) -> ScopeTypes:
        """Return the types that the declarations inside a definition state; overloads have numbered keys."""
        return self.scopes.get(key, NO_TYPES)

    def module(self, within: str, alias: str) -> str | None:
        """Return the package that an alias refers to at a place in the file; None if there is no such import."""
        for scope in enclosing_keys(within):
            if scope in self.modules and alias in self.modules[scope]:
                return self.modules[scope][alias]
        return None

    def module_package(self, within: str) -> str:
        """Return the package of a place in the file; Rust files may contain modules."""
        inner = next((scope for scope in enclosing_keys(within) if self.kinds.get(scope) == "module"), "")
        return f"{self.package_path}.{inner}".strip(".") if inner else self.package_path


class DefinedSymbol(NamedTuple):
    """Location of a symbol; an empty key means the file itself."""

    path: str
    key: str


class SourceFiles:
    """All files of the supported languages, read on demand."""

    def __init__(self, project: ProjectFacts) -> None:
        self.project = project
        self.paths = project.paths()
        self._units: dict[str, SourceFile | None] = {}
        self._named_cache: dict[str, list[NamedSymbol]] = {}
        self._by_file_name: dict[str, list[str]] | None = None
        self._go_folders: dict[str, list[str]] | None = None
        self._global_usings: dict[str, tuple[ImportClause, ...]] = {}

    def file(self, path: str) -> SourceFile | None:
        """Return the interface of a file; None if it is missing or in another language."""
        if path not in self._units:
            language = self.project.language(path)
            interface = self.project.interface(path) if language in GRAMMARS else None
            file = SourceFile(path, language, interface) if isinstance(interface, SourceInterface) else None
            self._units[path] = file
            if file is not None:
                self._sort_imports(file)
        return self._units[path]

    def named(self, name: str) -> list[NamedSymbol]:
        """Return all symbols with a name, of any language."""
        if name not in self._named_cache:
            self._named_cache[name] = list(self.project.named(name))
        return self._named_cache[name]

    def by_file_name(self, name: str) -> list[str]:
        """Return the paths of all files with a file name."""
        if self._by_file_name is None:
            self._by_file_name = defaultdict(list)
            for path in sorted(self.paths):
                self._by_file_name[path.rpartition("/")[2]].append(path)
        return self._by_file_name.get(name, [])

    def go_files(self, folder: str) -> list[str]:
        """Return the Go files of a folder without its tests."""
        if self._go_folders is None:
            self._go_folders = defaultdict(list)
            for path in sorted(self.paths):
                if path.endswith(".go") and not path.endswith("_test.go"):
                    self._go_folders[dirname(path)].append(path)
        return self._go_folders.get(folder, [])

    def _sort_imports(self, file: SourceFile) -> None:
        """Group the imports of a file: single names, wildcards, and packages under a name."""
        for clause in (*file.imports, *(self._global_imports(file.path) if file.language == "csharp" else ())):
            full = self.absolute_name(file, clause.name, clause.within)
            alias = clause.alias
            if clause.form == "all":
                file.wildcards[clause.within].append(full)
            elif clause.form in ("name", "member"):
                file.imported_names[clause.within][alias] = full
                file.modules[clause.within].setdefault(alias, full)
            elif clause.form == "module":
                file.modules[clause.within][self._go_name(full, alias) if file.language == "go" else alias] = full

    def _global_imports(self, path: str) -> tuple[ImportClause, ...]:
        """Return the `global using` directives of the C# project that contains a file."""
        project = self._csharp_project(path)
        if project not in self._global_usings:
            found: list[ImportClause] = []
            for usings in self._global_usings_files:
                interface = self.project.interface(usings) if self._csharp_project(usings) == project else None
                clauses = interface.imports if isinstance(interface, SourceInterface) else ()
                found += [clause for clause in clauses if clause.is_global]
            self._global_usings[project] = tuple(found)
        return self._global_usings[project]

    @cached_property
    def _global_usings_files(self) -> list[str]:
        return [path for path in sorted(self.paths) if path.endswith(".cs") and _may_hold_global_usings(path)]

    def _csharp_project(self, path: str) -> str:
        """Return the nearest folder above a file that contains a C# project; the root if there is none."""
        folder = dirname(path)
        while folder and folder not in self._csharp_folders:
            folder = dirname(folder)
        return folder

    @cached_property
    def _csharp_folders(self) -> frozenset[str]:
        return frozenset(dirname(path) for path in self.paths if path.endswith(".csproj"))

    def absolute_name(self, file: SourceFile, name: str, within: str = "") -> str:
        """Return an imported name relative to the project root."""
        if file.language == "rust":
            return absolute_rust(name, file.module_package(within), crate_of(file.path), self.paths, self.crates)
        return self.go_package(name) if file.language == "go" else name

    def _go_name(self, package: str, alias: str) -> str:
        """Return the name of a Go package that is imported without an alias: its `package` clause, which may differ
        from its path."""
        if not alias.startswith("/"):
            return alias
        for path in self.go_files(package.replace(".", "/")) if not package.startswith("//") else ():
            interface = self.project.interface(path)
            if isinstance(interface, SourceInterface) and interface.package:
                return interface.package
        return alias.removeprefix("/")

    def layout_dependencies(self, language: str) -> list[str]:
        """Return the dependencies of all files of a language: manifests and roots that determine package names."""
        if language == "go":
            return [files_named("go"), *self.by_file_name("go.mod")]
        if language == "csharp":
            return [*map(files_named, _USINGS_FILES), files_with_suffix("csproj"), *self._global_usings_files]
        return (
            [files_named("lib"), files_named("Cargo"), *self.by_file_name("Cargo.toml")] if language == "rust" else []
        )

    @cached_property
    def crates(self) -> dict[str, str]:
        """Folder of each crate root, dotted, by the crate name of its Cargo.toml; the first manifest wins."""
        found: dict[str, str] = {}
        for manifest in self.by_file_name("Cargo.toml"):
            declared = self.project.interface(manifest)
            if isinstance(declared, PackageDeclaration) and declared.sources:
                root = normpath(join(dirname(manifest), declared.sources[0]))
                if root in self.paths:
                    found.setdefault(declared.name, dirname(root).replace("/", "."))
        return found

    @cached_property
    def external_crates(self) -> frozenset[str]:
        """Crates that manifests require and the project does not define, spelled as in paths."""
        required = set(_STANDARD_CRATES)
        for manifest in self.by_file_name("Cargo.toml"):
            declared = self.project.interface(manifest)
            if isinstance(declared, PackageDeclaration):
                required.update(name.replace("-", "_") for name in declared.requires)
        return frozenset(required - {name.replace("-", "_") for name in self.crates})

    def go_package(self, name: str) -> str:
        """Return the dotted project folder of a Go import path; the path with the prefix `//` if it is outside the
        project."""
        for manifest in self.by_file_name("go.mod"):
            module = self.project.interface(manifest)
            if isinstance(module, GoModule) and f"{name}/".startswith(f"{module.name}/"):
                folder = manifest.rpartition("/")[0]
                return f"{folder}/{name[len(module.name) + 1 :]}".strip("/").replace("/", ".")
        return f"//{name}"


def _may_hold_global_usings(path: str) -> bool:
    return path.rpartition("/")[2].partition(".")[0] in _USINGS_FILES


def enclosing_keys(key: str) -> Iterator[str]:
    """Yield a key and the keys of all enclosing definitions, ending with the empty key of the file."""
    while key:
        yield key
        key = key.rpartition(".")[0]
    yield ""


def family_of(language: str) -> str:
    """Return the family of languages whose definitions a language can use."""
    return FAMILIES.get(language, language)
