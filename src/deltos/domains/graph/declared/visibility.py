"""What a name means in a file: through imports, packages, included files, and the members that a type has elsewhere."""

from __future__ import annotations

from posixpath import basename, dirname
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.declared.facts import UNKNOWN
from deltos.domains.graph.declared.imports import absolute_rust, crate_of, included_file
from deltos.domains.graph.declared.shapes import SHAPES
from deltos.domains.graph.declared.world import DefinedSymbol, family_of
from deltos.domains.graph.kernel.dependencies import any_called, any_definition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.graph.declared.facts import AccessPath
    from deltos.domains.graph.declared.world import Unit, World


class Lookup(NamedTuple):
    """What a name may mean."""

    targets: tuple[DefinedSymbol, ...]
    is_certain: bool = True


NOTHING = Lookup((), is_certain=False)


class Visibility:
    """Looks names up on behalf of one file, noting everything that the answers depend on."""

    def __init__(self, world: World, unit: Unit) -> None:
        self._world = world
        self._unit = unit
        self._family = family_of(unit.language)
        self._shape = SHAPES[unit.language]
        self.dependencies = set(world.layout_dependencies(unit.language))
        self._visible: dict[tuple[str, str], Lookup] = {}
        self._included: dict[str, frozenset[str]] = {}

    def visible(self, unit: Unit, name: str) -> Lookup:
        """What a plain name means in a file, and whether that is certain."""
        memo = (unit.path, name)
        if memo not in self._visible:
            self._visible[memo] = self._look(unit, name)
        return self._visible[memo]

    def _look(self, unit: Unit, name: str) -> Lookup:
        if name in unit.tops:
            return Lookup(tuple([DefinedSymbol(unit.path, key) for key in unit.tops[name]]))
        if unit.language in ("c", "cpp"):
            return self._linked(unit, name)
        exact = unit.exact.get(name)
        if exact is not None:
            package, _, last = exact.rpartition(".")
            found = self.in_package(package, last)
            return Lookup(found or self.nested(package, last))
        for package in self._packages(unit):
            found = self.in_package(package, name)
            if found:
                return Lookup(found)
        return self._anywhere(unit, name)

    def _packages(self, unit: Unit) -> Iterator[str]:
        """The packages whose names a file sees without qualification, nearest first."""
        yield unit.home
        yield from unit.wildcards
        outer = unit.home
        while outer and unit.language in ("csharp", "ruby"):
            outer = outer.rpartition(".")[0]
            yield outer

    def in_package(self, package: str, name: str) -> tuple[DefinedSymbol, ...]:
        """The top-level definitions of a name in a package."""
        self.dependencies.add(any_definition(name))
        wanted = f"{package}.{name}" if package else name
        found: list[DefinedSymbol] = []
        for symbol in self._world.named(name):
            unit = self.read(symbol.path)
            if unit is None or family_of(unit.language) != self._family:
                continue
            if symbol.key in unit.tops.get(name, ()) and unit.full_name(symbol.key) == wanted:
                found.append(DefinedSymbol(symbol.path, symbol.key))
        return tuple(found)

    def nested(self, package: str, name: str) -> tuple[DefinedSymbol, ...]:
        """A member imported by name: `import static a.B.c`, `use crate::a::B::c`."""
        outer, _, type_name = package.rpartition(".")
        for owner in self.in_package(outer, type_name) if type_name else ():
            found = self.own_member(owner, name)
            if found:
                return found
        return ()

    def _anywhere(self, unit: Unit, name: str) -> Lookup:
        """The only definition of a name in the project: certain where names are global, else possible."""
        if not name[:1].isupper():
            return NOTHING
        self.dependencies.add(any_definition(name))
        found: list[DefinedSymbol] = []
        for symbol in self._world.named(name):
            other = self.read(symbol.path)
            if other is not None and family_of(other.language) == self._family and name in other.tops:
                found.append(DefinedSymbol(symbol.path, symbol.key))
        return Lookup(tuple(found), is_certain=unit.language == "ruby") if len(found) == 1 else NOTHING

    def _linked(self, unit: Unit, name: str) -> Lookup:
        """C and C++: what included files define, or the sources that belong to included headers."""
        self.dependencies.add(any_definition(name))
        included = self._includes(unit.path)
        stems = {_stem(path) for path in included} | {_stem(unit.path)}
        near: list[DefinedSymbol] = []
        far: list[DefinedSymbol] = []
        for symbol in self._world.named(name):
            other = self.read(symbol.path)
            if other is None or family_of(other.language) != "c" or name not in other.tops:
                continue
            is_near = symbol.path in included or _stem(symbol.path) in stems
            (near if is_near else far).append(DefinedSymbol(symbol.path, symbol.key))
        return Lookup(tuple(near)) if near else Lookup(tuple(far) if len(far) == 1 else (), is_certain=False)

    def _includes(self, path: str) -> frozenset[str]:
        """The files that a file includes, directly and through others."""
        if path not in self._included:
            seen: set[str] = set()
            pending = [path]
            while pending:
                unit = self.read(pending.pop())
                for target in self._direct_includes(unit) if unit is not None else ():
                    if target not in seen:
                        seen.add(target)
                        pending.append(target)
            self._included[path] = frozenset(seen)
        return self._included[path]

    def _direct_includes(self, unit: Unit) -> Iterator[str]:
        for clause in unit.imports:
            if clause.how == "file":
                found = self.included(unit, clause.name)
                if found is not None:
                    yield found

    def included(self, unit: Unit, name: str) -> str | None:
        """The file that an import by path means in a file."""
        self.dependencies.add(any_called(_stem(name)))
        return included_file(name, unit.path, self._world.paths, self._world.by_file_name)

    def package_of(self, path: AccessPath) -> str:
        """The package that a qualified name is looked up in: `store` of `store.Open`, `A.B` of `A::B.go`."""
        if UNKNOWN in path or any(step.endswith("()") for step in path):
            return ""
        first = path[0]
        if first in self._unit.modules:
            return ".".join([self._unit.modules[first], *path[1:]])
        if self._unit.language == "rust":
            return absolute_rust(".".join(path), self._unit.home, crate_of(self._unit.path), self._world.paths)
        return ".".join(path) if self._unit.language != "go" else ""

    def read(self, path: str) -> Unit | None:
        self.dependencies.add(path)
        return self._world.unit(path)

    def own_member(self, owner: DefinedSymbol, name: str) -> tuple[DefinedSymbol, ...]:
        path, key = owner
        self.dependencies.add(any_definition(name))
        wanted = f"{key.rpartition('.')[2]}.{name}"
        found: list[DefinedSymbol] = []
        unit = self.read(path)
        for symbol in self._world.named(name):
            bare = symbol.key.partition("#")[0]
            if symbol.path == path:
                matches = bare == f"{key}.{name}"
            else:
                matches = (bare == wanted or bare.endswith(f".{wanted}")) and self._is_beside(unit, symbol.path)
            if matches:
                found.append(DefinedSymbol(symbol.path, symbol.key))
        return tuple(found)

    def _is_beside(self, unit: Unit | None, path: str) -> bool:
        """Whether a file may hold members of a type of another: same package, or header and source of one name."""
        other = self.read(path)
        if unit is None or other is None or family_of(other.language) != family_of(unit.language):
            return False
        if family_of(unit.language) == "c":
            return (
                _stem(unit.path) == _stem(path)
                or path in self._includes(unit.path)
                or unit.path in self._includes(path)
            )
        return other.home == unit.home and unit.language in ("go", "rust", "csharp", "ruby", "kotlin")

    def files_of(self, package: str) -> list[DefinedSymbol]:
        """The files of a package that is told by its place: a Go folder, a Rust module."""
        paths, folder = self._world.paths, package.replace(".", "/")
        found: list[str] = []
        if self._unit.language == "rust":
            self.dependencies.add(any_called(basename(folder)))
            candidates = (f"{folder}.rs", f"{folder}/mod.rs", f"{folder}/lib.rs")
            found = [path for path in candidates if path in paths][:1]
        elif self._unit.language == "go" and not package.startswith("//"):
            self.dependencies.add(any_called(basename(folder)))
            inside = [path for path in paths if path.endswith(".go") and dirname(path) == folder]
            found = [path for path in sorted(inside) if not path.endswith("_test.go")]
        return [DefinedSymbol(path, "") for path in found]


def _stem(path: str) -> str:
    return basename(path).partition(".")[0]
