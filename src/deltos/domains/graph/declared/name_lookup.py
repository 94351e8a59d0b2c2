"""Look up names in scopes, imports, packages and included files, and find the members of types."""

from __future__ import annotations

from posixpath import basename
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.declared.facts import UNKNOWN, enclosing_keys
from deltos.domains.graph.declared.imports import included_file
from deltos.domains.graph.declared.languages import family_of
from deltos.domains.graph.declared.source_files import DefinedSymbol
from deltos.domains.graph.kernel.dependencies import all_definitions, files_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.graph.declared.facts import AccessPath
    from deltos.domains.graph.declared.source_files import SourceFile, SourceFiles

LOCAL_SCOPES = frozenset({"function", "method", "module"})
"""Kinds of definitions whose inner definitions are visible by their plain names."""
_TYPE_KINDS = frozenset({"class", "interface", "enum", "type"})
_REOPENABLE_KINDS = frozenset({"class", "module"})
_MAX_REEXPORTS = 8
"""Maximum number of re-exports to follow."""
_MAX_WILDCARD_REEXPORTS = 32
"""Maximum number of wildcard re-exports to search for one name."""


class LookupResult(NamedTuple):
    """Definitions to which a name may refer."""

    targets: tuple[DefinedSymbol, ...]
    is_certain: bool = True


NO_DEFINITIONS = LookupResult((), is_certain=False)


class NameLookup:
    """Name lookup for one file, which records the dependencies of the results."""

    def __init__(self, sources: SourceFiles, file: SourceFile) -> None:
        self._sources = sources
        self._file = file
        self._family = family_of(file.language)
        self.dependencies = set(file.traits.layout_dependencies(sources))
        self._visible_cache: dict[tuple[str, str, str], LookupResult] = {}
        self._in_package: dict[tuple[str, str], tuple[DefinedSymbol, ...]] = {}
        self._included_paths: dict[str, frozenset[str]] = {}

    def visible_definitions(self, file: SourceFile, name: str, within: str = "") -> LookupResult:
        """Return the definitions of an unqualified name in a scope, and whether it was resolved with certainty."""
        memo = (file.path, name, within)
        if memo not in self._visible_cache:
            self._visible_cache[memo] = self._find_visible(file, name, within)
        return self._visible_cache[memo]

    def _find_visible(self, file: SourceFile, name: str, within: str) -> LookupResult:
        """Look up a name in all enclosing scopes, then in the entire project."""
        for scope in enclosing_keys(within):
            found = self._find_in_scope(file, name, scope)
            if found is not None:
                return found
        return self._find_in_project(file, name)

    def _find_in_scope(self, file: SourceFile, name: str, scope: str) -> LookupResult | None:
        """Look up a name in one scope: its definitions, its imports, then the visible packages."""
        if scope:
            key = f"{scope}.{name}"
            is_seen = file.kinds.get(scope) in LOCAL_SCOPES and file.kinds.get(key) != "method"
            if key in file.kinds and (is_seen or (scope in file.type_keys and key in file.type_keys)):
                return LookupResult((DefinedSymbol(file.path, key),))
        elif name in file.top_level:
            return LookupResult(self._top_level_definitions(file, name))
        if file.traits.links_by_name:
            return self.linked_definitions(file, name) if not scope else None
        full_name = file.imported_names[scope].get(name) if scope in file.imported_names else None
        if full_name is not None:
            found = self.definitions_by_full_name(full_name)
            # Continue in Rust, where types, values and macros may have the same name
            if found or not file.traits.has_module_tree:
                return LookupResult(found)
        for package in self._packages(file, scope):
            found = self.definitions_in_package(package, name)
            if not found and package in file.wildcards.get(scope, ()):
                # This is an import of all members of a type: `import static a.B.*`, `use Kind::*`.
                found = self.nested_member(package, name)
            if found:
                return LookupResult(found)
        return None

    def _top_level_definitions(self, file: SourceFile, name: str) -> tuple[DefinedSymbol, ...]:
        """Return the top-level definitions of a name in a file or, for a reopened Ruby class, only the first one."""
        keys = file.top_level[name]
        if file.traits.reopens_types and len(keys) == 1 and file.kinds[keys[0]] in _REOPENABLE_KINDS:
            return self._definitions_in(*_split_key(keys[0])) or (DefinedSymbol(file.path, keys[0]),)
        return tuple([DefinedSymbol(file.path, key) for key in keys])

    def _packages(self, file: SourceFile, scope: str) -> Iterator[str]:
        """Yield the packages whose names are visible without qualification in a scope, nearest first."""
        if scope:
            yield from file.wildcards.get(scope, ())
            if file.traits.reopens_types:
                yield scope  # the scope itself, because other files may define the same Ruby module
            return
        yield file.package_path
        yield from file.wildcards.get("", ())
        outer = file.package_path
        while outer and file.traits.sees_outer_packages:
            outer = outer.rpartition(".")[0]
            yield outer

    def definitions_by_full_name(self, name: str) -> tuple[DefinedSymbol, ...]:
        """Return the definitions of a package-qualified name, which may be members of a type in the package."""
        package, _, last = name.rpartition(".")
        return self.definitions_in_package(package, last) or self.nested_member(package, last)

    def definitions_in_package(self, package: str, name: str) -> tuple[DefinedSymbol, ...]:
        """Return the top-level definitions of a name in a package."""
        memo = (package, name)
        if memo not in self._in_package:
            self._in_package[memo] = self._definitions_in(package, name) or self._reexported_definitions(package, name)
        return self._in_package[memo]

    def _definitions_in(self, package: str, name: str) -> tuple[DefinedSymbol, ...]:
        """Return the definitions of a name in a package, excluding re-exported definitions."""
        self.dependencies.add(all_definitions(name))
        wanted = f"{package}.{name}" if package else name
        found: list[DefinedSymbol] = []
        for symbol in self._sources.named(name):
            file = self.read(symbol.path)
            if file is None or family_of(file.language) != self._family:
                continue
            if symbol.key in file.top_level.get(name, ()) and file.full_name(symbol.key) == wanted:
                found.append(DefinedSymbol(symbol.path, symbol.key))
        return self._merge_openings(found)

    def _merge_openings(self, found: list[DefinedSymbol]) -> tuple[DefinedSymbol, ...]:
        """Return only the first definition of a reopened Ruby class or module, because all of them are one symbol."""
        if not self._file.traits.reopens_types or len(found) < 2 or not all(map(self._is_reopenable, found)):
            return tuple(found)
        return (min(found),)

    def first_opening(self, owner: DefinedSymbol) -> DefinedSymbol:
        """Return the first definition of a Ruby class or module, which represents all its definitions."""
        if not self._file.traits.reopens_types:
            return owner
        return next(iter(self._definitions_in(*_split_key(owner.key))), owner)

    def _is_reopenable(self, target: DefinedSymbol) -> bool:
        """Whether a definition is a Ruby class or module, which can be reopened."""
        file = self.read(target.path)
        return file is not None and file.kinds.get(target.key) in _REOPENABLE_KINDS

    def _reexported_definitions(self, package: str, name: str) -> tuple[DefinedSymbol, ...]:
        """Return the definitions that a Rust module re-exports under a name."""
        # Visibility (`pub`) is not checked, because code that compiles uses no private names.
        if not self._file.traits.has_module_tree:
            return ()
        seen: set[tuple[str, str]] = set()
        pending = [(package, name)]
        while pending and len(seen) < _MAX_WILDCARD_REEXPORTS:
            here = pending.pop(0)
            if here in seen:
                continue
            seen.add(here)
            found = self._definitions_in(*here) if here != (package, name) else ()
            if found:
                return found
            pending.extend(self._reexports_of(*here))
        return ()

    def _reexports_of(self, package: str, name: str) -> Iterator[tuple[str, str]]:
        """Yield the package and name of each definition that a Rust module may re-export under the given name."""
        for path, scope in self._rust_modules(package):
            file = self.read(path)
            if file is None:
                continue
            full_name = file.imported_names[scope].get(name) if scope in file.imported_names else None
            if full_name is not None:
                before, _, last = full_name.rpartition(".")
                yield before, last
            for wildcard in file.wildcards.get(scope, ()):
                yield wildcard, name

    def _rust_modules(self, package: str) -> Iterator[tuple[str, str]]:
        """Yield each file that contains a Rust module, and the module's path in the file (empty for the file)."""
        inner = ""
        outer = package
        for _ in range(_MAX_REEXPORTS):
            files = self.package_files(outer)
            if files:
                yield files[0].path, inner
                return
            if not outer:
                return
            outer, _, last = outer.rpartition(".")
            inner = f"{last}.{inner}".strip(".")

    def nested_member(self, package: str, name: str) -> tuple[DefinedSymbol, ...]:
        """Return the definitions of a member that is imported by name: `import static a.B.c`, `use crate::a::B::c`."""
        outer, _, type_name = package.rpartition(".")
        for owner in self.definitions_in_package(outer, type_name) if type_name else ():
            found = self.own_member(owner, name)
            if found:
                return found
        if type_name[:1].isupper() and outer:
            for owner in self.nested_member(outer, type_name):
                found = self.own_member(owner, name)
                if found:
                    return found
        return ()

    def _find_in_project(self, file: SourceFile, name: str) -> LookupResult:
        """Return all definitions of a name in the project.

        In Ruby, a single definition is resolved with certainty.
        """
        if not name[:1].isupper() or file.traits.links_by_name:
            return NO_DEFINITIONS
        self.dependencies.add(all_definitions(name))
        found: list[DefinedSymbol] = []
        for symbol in self._sources.named(name):
            other = self.read(symbol.path)
            if (
                other is not None
                and family_of(other.language) == self._family
                and symbol.key in other.top_level.get(name, ())
            ):
                found.append(DefinedSymbol(symbol.path, symbol.key))
        if len({target.key for target in found}) == 1:
            found = list(self._merge_openings(found))
        return (
            LookupResult(tuple(found), is_certain=file.traits.reopens_types and len(found) == 1)
            if found
            else NO_DEFINITIONS
        )

    def linked_definitions(self, file: SourceFile, name: str) -> LookupResult | None:
        """Return the definitions of a C or C++ name that the linker could use.

        Definitions in included files and in the source files of included headers come first. Then follow all
        definitions of a function that an included header declares, for example one per platform. Any other definition
        is resolved with certainty only if it is the only one.
        """
        self.dependencies.add(all_definitions(name))
        included_paths = self._includes(file.path)
        stems = {_stem(path) for path in included_paths} | {_stem(file.path)}
        preferred: list[DefinedSymbol] = []
        others: list[DefinedSymbol] = []
        for symbol in self._sources.named(name):
            other = self.read(symbol.path)
            if other is None or family_of(other.language) != "c" or symbol.key not in other.top_level.get(name, ()):
                continue
            is_preferred = symbol.path in included_paths or (
                _stem(symbol.path) in stems and symbol.key not in other.file_local
            )
            if is_preferred:
                preferred.append(DefinedSymbol(symbol.path, symbol.key))
            elif symbol.key not in other.file_local:
                others.append(DefinedSymbol(symbol.path, symbol.key))
        can_refer_to_files = any(target.path in included_paths for target in preferred)
        if others and not can_refer_to_files and len(preferred) + len(others) > 1:
            preferred += self._targets_with_same_declaration(name, file.path, others)
        if preferred:
            return LookupResult(tuple(filter(self._is_renaming, preferred)) or tuple(preferred))
        return LookupResult(tuple(others), is_certain=len(others) == 1) if others else None

    def _is_renaming(self, target: DefinedSymbol) -> bool:
        """Whether a definition is a C macro that renames another definition of the project: `#define a b`."""
        file = self.read(target.path)
        names = file.macros.get(target.key, ()) if file is not None else ()
        if len(names) != 1 or names[0].name == target.key:
            return False
        self.dependencies.add(all_definitions(names[0].name))
        return bool(self._sources.named(names[0].name))

    def _targets_with_same_declaration(
        self, name: str, path: str, targets: list[DefinedSymbol]
    ) -> Iterator[DefinedSymbol]:
        """Yield the targets whose files include the same prototype of the function as the file `path`."""
        declaring = frozenset(seen for seen in (path, *self._includes(path)) if self._declares(seen, name))
        return (target for target in targets if declaring and not declaring.isdisjoint(self._includes(target.path)))

    def _declares(self, path: str, name: str) -> bool:
        """Whether a file contains a prototype of a function."""
        file = self.read(path)
        return file is not None and name in file.prototypes

    def _includes(self, path: str) -> frozenset[str]:
        """Return the files that a file includes, directly or indirectly."""
        if path not in self._included_paths:
            seen: set[str] = set()
            pending = [path]
            while pending:
                file = self.read(pending.pop())
                for target in self._direct_includes(file) if file is not None else ():
                    if target not in seen:
                        seen.add(target)
                        pending.append(target)
            self._included_paths[path] = frozenset(seen)
        return self._included_paths[path]

    def _direct_includes(self, file: SourceFile) -> Iterator[str]:
        """Yield the files that a file includes directly."""
        for clause in file.imports:
            if clause.form == "file":
                found = self.included_path(file, clause.name)
                if found is not None:
                    yield found

    def included_path(self, file: SourceFile, name: str) -> str | None:
        """Return the path of the file that `file` includes under the given name."""
        self.dependencies.add(files_named(_stem(name)))
        return included_file(name, file.path, self._sources.paths, self._sources.paths_by_file_name)

    def package_of(self, path: AccessPath, file: SourceFile, within: str) -> str | None:
        """Return the package in which a qualified name is looked up: `store` for `store.Open`, `A.B` for `A::B.go`."""
        if UNKNOWN in path or any(step.endswith(("()", "]")) or step[:1] in ":#" for step in path):
            return None
        module = file.module(within, path[0])
        if module is not None:
            return ".".join([module, *path[1:]]).strip(".")
        if file.traits.has_module_tree:
            return self._sources.absolute_name(file, ".".join(path), within)
        return ".".join(path) if not file.traits.has_packages_by_path else None

    def definitions_in_namespace(
        self, file: SourceFile, within: str, path: AccessPath, name: str
    ) -> tuple[DefinedSymbol, ...]:
        r"""Return the definitions of PHP's `Sub\\Name` in an imported namespace, the root, or the file's namespace."""
        if not path[0]:
            return self.definitions_in_package(".".join(path[1:]), name)
        package = self.package_of(path, file, within)
        if package is None:
            return ()
        found = self.definitions_in_package(package, name)
        return found or (
            self.definitions_in_package(f"{file.package_path}.{package}", name) if file.package_path else ()
        )

    def is_type_name(self, name: str) -> bool:
        """Whether any file in the project defines a type with this name."""
        self.dependencies.add(all_definitions(name))
        return any(each.kind in _TYPE_KINDS for each in self._sources.named(name))

    def read(self, path: str) -> SourceFile | None:
        """Return the interface of a file, and record the file as a dependency."""
        self.dependencies.add(path)
        return self._sources.file(path)

    def own_member(self, owner: DefinedSymbol, name: str) -> tuple[DefinedSymbol, ...]:
        """Return the members that a type itself (not a base type) defines, in its own file or in related files."""
        path, key = owner
        self.dependencies.add(all_definitions(name))
        key = key.partition("#")[0]
        wanted = f"{key.rpartition('.')[2]}.{name}"
        found: list[DefinedSymbol] = []
        file = self.read(path)
        for symbol in self._sources.named(name):
            bare = symbol.key.partition("#")[0]
            if symbol.path == path and bare == f"{key}.{name}":
                found.append(DefinedSymbol(symbol.path, symbol.key))
            elif bare == wanted or bare.endswith(f".{wanted}"):
                if symbol.path == path and bare.rpartition(".")[0] in (file.type_keys if file is not None else ()):
                    continue  # another type in this file has the same name
                if symbol.path == path or self._may_define_members(file, symbol.path, bare):
                    found.append(DefinedSymbol(symbol.path, symbol.key))
        return self._merge_openings(found)

    def _may_define_members(self, file: SourceFile | None, path: str, key: str) -> bool:
        """Whether the file `path` may define members of a type in `file`, as a C++ source file does for its header."""
        other = self.read(path)
        if file is None or other is None or family_of(other.language) != family_of(file.language):
            return False
        container = key.rpartition(".")[0]
        if container in other.type_keys:
            # This case applies to languages with partial or reopened types.
            return file.traits.splits_types and other.package_path == file.package_path
        if family_of(file.language) == "c":
            return (
                _stem(file.path) == _stem(path)
                or path in self._includes(file.path)
                or file.path in self._includes(path)
            )
        if file.traits.has_module_tree and other.package_path != file.package_path:
            scope, _, name = container.rpartition(".")
            return any(target.path == file.path for target in self.visible_definitions(other, name, scope).targets)
        return other.package_path == file.package_path and file.traits.shares_members_in_package

    def package_files(self, package: str) -> list[DefinedSymbol]:
        """Return the files of a package, given the path of the Go folder or Rust module."""
        if not self._file.traits.has_packages_by_path or package.startswith("//"):
            return []
        self.dependencies.add(files_named(package.rpartition(".")[2]))
        return [DefinedSymbol(path, "") for path in self._file.traits.package_files(self._sources, package)]


def _split_key(key: str) -> tuple[str, str]:
    """Split a symbol key into the key of the containing symbol and the last name."""
    before, _, last = key.rpartition(".")
    return before, last


def _stem(path: str) -> str:
    """Return a file name without its suffixes."""
    return basename(path).partition(".")[0]
