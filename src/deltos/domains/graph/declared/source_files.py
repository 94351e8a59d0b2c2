"""Read the indexed interfaces of a project's files on demand."""

from __future__ import annotations

from collections import defaultdict
from posixpath import dirname
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.declared.facts import ScopeTypes, SourceInterface, enclosing_keys
from deltos.domains.graph.declared.languages import TRAITS

if TYPE_CHECKING:
    from deltos.domains.graph.kernel.resolver import NamedSymbol, ProjectFacts

NO_TYPES = ScopeTypes()


class SourceFile:
    """Interface of one file: its package, top-level definitions, types and imports.

    Imports are grouped by the scope in which they apply: a module or function in the file, or the empty key for the
    entire file.
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
        "traits",
        "type_keys",
        "wildcards",
    )

    def __init__(self, path: str, language: str, interface: SourceInterface) -> None:
        self.path = path
        self.language = language
        self.traits = TRAITS[language]
        self.package = interface.package
        self.package_path = self.traits.file_package(path, interface.package)
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
        """Return the package-qualified name of the definition with this key."""
        return (
            f"{self.package_path}.{key}" if self.package_path and not key.startswith(f"{self.package_path}.") else key
        )

    def scope(self, key: str) -> ScopeTypes:
        """Return the types that are declared inside the definition with this key."""
        return self.scopes.get(key, NO_TYPES)

    def module(self, within: str, alias: str) -> str | None:
        """Return the package to which an alias refers in a scope of the file, or None if there is no such import."""
        for scope in enclosing_keys(within):
            if scope in self.modules and alias in self.modules[scope]:
                return self.modules[scope][alias]
        return None

    def module_package(self, within: str) -> str:
        """Return the package of a scope in the file. In Rust, it is a module."""
        inner = next((scope for scope in enclosing_keys(within) if self.kinds.get(scope) == "module"), "")
        return f"{self.package_path}.{inner}".strip(".") if inner else self.package_path


class DefinedSymbol(NamedTuple):
    """Location of a symbol; an empty key means the file itself."""

    path: str
    key: str


class SourceFiles:
    """Files of the project in all languages with declared types, read on demand."""

    def __init__(self, project: ProjectFacts) -> None:
        self.project = project
        self.paths = project.paths()
        self._units: dict[str, SourceFile | None] = {}
        self._named_cache: dict[str, list[NamedSymbol]] = {}
        self._by_file_name: dict[str, list[str]] | None = None
        self._by_folder: dict[str, list[str]] | None = None
        self.memo: dict[tuple[str, str], object] = {}  # values cached by the functions in `LanguageTraits`

    def file(self, path: str) -> SourceFile | None:
        """Return the interface of a file, or None if it is missing or in another language."""
        if path not in self._units:
            language = self.project.language(path)
            interface = self.project.interface(path) if language in TRAITS else None
            file = SourceFile(path, language, interface) if isinstance(interface, SourceInterface) else None
            self._units[path] = file
            if file is not None:
                self._group_imports(file)
        return self._units[path]

    def named(self, name: str) -> list[NamedSymbol]:
        """Return all symbols with this name, in any language."""
        if name not in self._named_cache:
            self._named_cache[name] = list(self.project.named(name))
        return self._named_cache[name]

    def paths_by_file_name(self, name: str) -> list[str]:
        """Return the paths of all files with this file name."""
        if self._by_file_name is None:
            self._by_file_name = defaultdict(list)
            for path in sorted(self.paths):
                self._by_file_name[path.rpartition("/")[2]].append(path)
        return self._by_file_name.get(name, [])

    def paths_in_folder(self, folder: str) -> list[str]:
        """Return the paths of all files directly in a folder."""
        if self._by_folder is None:
            self._by_folder = defaultdict(list)
            for path in sorted(self.paths):
                self._by_folder[dirname(path)].append(path)
        return self._by_folder.get(folder, [])

    def _group_imports(self, file: SourceFile) -> None:
        """Group the imports of a file into single names, wildcards, and named packages."""
        traits = file.traits
        for clause in (*file.imports, *traits.global_imports(self, file.path)):
            full = self.absolute_name(file, clause.name, clause.within)
            alias = clause.alias
            if clause.form == "all":
                file.wildcards[clause.within].append(full)
            elif clause.form in ("name", "member"):
                file.imported_names[clause.within][alias] = full
                file.modules[clause.within].setdefault(alias, full)
            elif clause.form == "module":
                file.modules[clause.within][traits.module_alias(self, full, alias)] = full

    def absolute_name(self, file: SourceFile, name: str, within: str = "") -> str:
        """Return an imported name relative to the project root."""
        return file.traits.absolute_name(self, file, name, within)
