"""What a name means in a file: through imports, packages, included files, and the members that a type has elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.declared.extract import UNKNOWN
from deltos.domains.graph.declared.imports import absolute_rust, crate_of, included_file
from deltos.domains.graph.declared.shapes import SHAPES
from deltos.domains.graph.declared.world import Definition, family_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.graph.declared.extract import Path
    from deltos.domains.graph.declared.world import Unit, World


class Visibility:
    """Looks names up on behalf of one file, noting everything that the answers depend on."""

    def __init__(self, world: World, unit: Unit) -> None:
        self._world = world
        self._unit = unit
        self._family = family_of(unit.language)
        self._shape = SHAPES[unit.language]
        self._dependencies = set(world.layout_dependencies(unit.language))
        self._visible: dict[tuple[str, str], tuple[tuple[Definition, ...], bool]] = {}
        self._included: dict[str, frozenset[str]] = {}

    def visible(self, unit: Unit, name: str) -> tuple[tuple[Definition, ...], bool]:
        """What a plain name means in a file, and whether that is certain."""
        memo = (unit.path, name)
        if memo not in self._visible:
            self._visible[memo] = self._look(unit, name)
        return self._visible[memo]

    def _look(self, unit: Unit, name: str) -> tuple[tuple[Definition, ...], bool]:
        if name in unit.tops:
            return tuple((unit.path, key) for key, _ in unit.tops[name]), True
        if unit.language in ("c", "cpp"):
            return self._linked(unit, name)
        exact = unit.exact.get(name)
        if exact is not None:
            package, _, last = exact.rpartition(".")
            found = self._in_package(package, last)
            return (found, True) if found else (self._nested(package, last), True)
        for package in self._packages(unit):
            found = self._in_package(package, name)
            if found:
                return found, True
        return self._anywhere(unit, name)

    def _packages(self, unit: Unit) -> Iterator[str]:
        """The packages whose names a file sees without qualification, nearest first."""
        yield unit.home
        yield from unit.wildcards
        outer = unit.home
        while outer and unit.language in ("csharp", "ruby"):
            outer = outer.rpartition(".")[0]
            yield outer

    def _in_package(self, package: str, name: str) -> tuple[Definition, ...]:
        """The top-level definitions of a name in a package."""
        self._dependencies.add(f"@{name}")
        wanted = f"{package}.{name}" if package else name
        found: list[Definition] = []
        for symbol in self._world.named(name):
            unit = self._read(symbol.path)
            if unit is None or family_of(unit.language) != self._family:
                continue
            for key, _ in unit.tops.get(name, ()):
                if key == symbol.key and unit.full_name(key) == wanted:
                    found.append((symbol.path, key))
        return tuple(found)

    def _nested(self, package: str, name: str) -> tuple[Definition, ...]:
        """A member imported by name: `import static a.B.c`, `use crate::a::B::c`."""
        outer, _, type_name = package.rpartition(".")
        for owner in self._in_package(outer, type_name) if type_name else ():
            found = self._own_member(owner, name)
            if found:
                return found
        return ()

    def _anywhere(self, unit: Unit, name: str) -> tuple[tuple[Definition, ...], bool]:
        """The only definition of a name in the project: certain where names are global, else possible."""
        if not name[:1].isupper():
            return (), False
        self._dependencies.add(f"@{name}")
        found: list[Definition] = []
        for symbol in self._world.named(name):
            other = self._read(symbol.path)
            if other is not None and family_of(other.language) == self._family and name in other.tops:
                found.append((symbol.path, symbol.key))
        return (tuple(found), unit.language == "ruby") if len(found) == 1 else ((), False)

    def _linked(self, unit: Unit, name: str) -> tuple[tuple[Definition, ...], bool]:
        """C and C++: what included files define, or the sources that belong to included headers."""
        self._dependencies.add(f"@{name}")
        included = self._includes(unit.path)
        stems = {_stem(path) for path in included} | {_stem(unit.path)}
        near: list[Definition] = []
        far: list[Definition] = []
        for symbol in self._world.named(name):
            other = self._read(symbol.path)
            if other is None or family_of(other.language) != "c" or name not in other.tops:
                continue
            is_near = symbol.path in included or _stem(symbol.path) in stems
            (near if is_near else far).append((symbol.path, symbol.key))
        return (tuple(near), True) if near else (tuple(far[:1]) if len(far) == 1 else (), False)

    def _includes(self, path: str) -> frozenset[str]:
        """The files that a file includes, directly and through others."""
        if path not in self._included:
            seen: set[str] = set()
            pending = [path]
            while pending:
                unit = self._read(pending.pop())
                for target in self._direct_includes(unit) if unit is not None else ():
                    if target not in seen:
                        seen.add(target)
                        pending.append(target)
            self._included[path] = frozenset(seen)
        return self._included[path]

    def _direct_includes(self, unit: Unit) -> Iterator[str]:
        for how, name, _ in unit.imports:
            if how == "file":
                self._dependencies.add(f"*/{name.rpartition('/')[2].partition('.')[0]}")
                found = included_file(name, unit.path, self._world.paths, self._world.by_file_name)
                if found is not None:
                    yield found

    def _package_of(self, path: Path) -> str:
        """The package that a qualified name is looked up in: `store` of `store.Open`, `A.B` of `A::B.go`."""
        if UNKNOWN in path or any(step.endswith("()") for step in path):
            return ""
        first = path[0]
        if first in self._unit.modules:
            return ".".join([self._unit.modules[first], *path[1:]])
        if self._unit.language == "rust":
            return absolute_rust(".".join(path), self._unit.home, crate_of(self._unit.path), self._world.paths)
        return ".".join(path) if self._unit.language != "go" else ""

    def _read(self, path: str) -> Unit | None:
        self._dependencies.add(path)
        return self._world.unit(path)

    def _own_member(self, owner: Definition, name: str) -> tuple[Definition, ...]:
        path, key = owner
        self._dependencies.add(f"@{name}")
        wanted = f"{key.rpartition('.')[2]}.{name}"
        found: list[Definition] = []
        unit = self._read(path)
        for symbol in self._world.named(name):
            bare = symbol.key.partition("#")[0]
            if symbol.path == path:
                matches = bare == f"{key}.{name}"
            else:
                matches = (bare == wanted or bare.endswith(f".{wanted}")) and self._is_beside(unit, symbol.path)
            if matches:
                found.append((symbol.path, symbol.key))
        return tuple(found)

    def _is_beside(self, unit: Unit | None, path: str) -> bool:
        """Whether a file may hold members of a type of another: same package, or header and source of one name."""
        other = self._read(path)
        if unit is None or other is None or family_of(other.language) != family_of(unit.language):
            return False
        if family_of(unit.language) == "c":
            return (
                _stem(unit.path) == _stem(path)
                or path in self._includes(unit.path)
                or unit.path in self._includes(path)
            )
        return other.home == unit.home and unit.language in ("go", "rust", "csharp", "ruby", "kotlin")

    def _files_of(self, package: str) -> list[Definition]:
        """The files of a package that is told by its place: a Go folder, a Rust module."""
        language, paths = self._unit.language, self._world.paths
        stem = package.replace(".", "/")
        if language == "rust":
            self._dependencies.add(f"*/{stem.rpartition('/')[2]}")
            return [(path, "") for path in (f"{stem}.rs", f"{stem}/mod.rs", f"{stem}/lib.rs") if path in paths][:1]
        if language == "go" and not package.startswith("//"):
            self._dependencies.add(f"*/{stem.rpartition('/')[2]}")
            inside = [path for path in paths if path.endswith(".go") and path.rpartition("/")[0] == stem]
            return [(path, "") for path in sorted(inside) if not path.endswith("_test.go")]
        return []


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]
