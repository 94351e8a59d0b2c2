"""What a name means in a file: through imports, packages, included files, and the members that a type has elsewhere."""

from __future__ import annotations

from posixpath import basename
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.declared.facts import UNKNOWN
from deltos.domains.graph.declared.imports import absolute_rust, crate_of, included_file
from deltos.domains.graph.declared.world import DefinedSymbol, family_of, outward
from deltos.domains.graph.kernel.dependencies import any_called, any_definition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.graph.declared.facts import AccessPath
    from deltos.domains.graph.declared.world import Unit, World

LOCAL_SCOPES = frozenset({"function", "method", "module"})
"""Kinds of definitions whose own definitions are seen inside them by their plain names."""
_OPENED = frozenset({"class", "module"})
_LONGEST_CHAIN = 8
"""How many re-exports are followed from one to the next."""
_MOST_WILDCARDS = 32
"""How many re-exports of everything are looked into for one name."""


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
        self.dependencies = set(world.layout_dependencies(unit.language))
        self._visible: dict[tuple[str, str, str], Lookup] = {}
        self._in_package: dict[tuple[str, str], tuple[DefinedSymbol, ...]] = {}
        self._included: dict[str, frozenset[str]] = {}

    def visible(self, unit: Unit, name: str, within: str = "") -> Lookup:
        """What a plain name means in a place of a file, and whether that is certain."""
        memo = (unit.path, name, within)
        if memo not in self._visible:
            self._visible[memo] = self._look(unit, name, within)
        return self._visible[memo]

    def _look(self, unit: Unit, name: str, within: str) -> Lookup:
        for scope in outward(within):
            found = self._in_scope(unit, name, scope)
            if found is not None:
                return found
        return self._anywhere(unit, name)

    def _in_scope(self, unit: Unit, name: str, scope: str) -> Lookup | None:
        """What a definition, an import or the package itself makes of a name, from the inside outwards."""
        if scope:
            key = f"{scope}.{name}"
            is_seen = unit.kinds.get(scope) in LOCAL_SCOPES and unit.kinds.get(key) != "method"
            if key in unit.kinds and (is_seen or (scope in unit.type_keys and key in unit.type_keys)):
                return Lookup((DefinedSymbol(unit.path, key),))
        elif name in unit.tops:
            return Lookup(self._tops(unit, name))
        if unit.language in ("c", "cpp"):
            return self.linked(unit, name) if not scope else None
        exact = unit.exact[scope].get(name) if scope in unit.exact else None
        if exact is not None:
            found = self.named_fully(exact)
            if found or unit.language != "rust":  # Rust has types, values and macros of one name
                return Lookup(found)
        for package in self._packages(unit, scope):
            found = self.in_package(package, name)
            if found:
                return Lookup(found)
        return None

    def _tops(self, unit: Unit, name: str) -> tuple[DefinedSymbol, ...]:
        keys = unit.tops[name]
        if unit.language == "ruby" and len(keys) == 1 and unit.kinds[keys[0]] in _OPENED:
            return self._defined_in(*_split(keys[0])) or (DefinedSymbol(unit.path, keys[0]),)
        return tuple([DefinedSymbol(unit.path, key) for key in keys])

    def _packages(self, unit: Unit, scope: str) -> Iterator[str]:
        """The packages whose names a place sees without qualification, nearest first."""
        if scope:
            yield from unit.wildcards.get(scope, ())
            if unit.language == "ruby":
                yield scope  # what another opening of the module defines
            return
        yield unit.home
        yield from unit.wildcards.get("", ())
        outer = unit.home
        while outer and unit.language in ("csharp", "ruby"):
            outer = outer.rpartition(".")[0]
            yield outer

    def named_fully(self, name: str) -> tuple[DefinedSymbol, ...]:
        """What a name with its package means: a definition of the package, or a member of a type in it."""
        package, _, last = name.rpartition(".")
        return self.in_package(package, last) or self.nested(package, last)

    def in_package(self, package: str, name: str) -> tuple[DefinedSymbol, ...]:
        """The top-level definitions of a name in a package."""
        memo = (package, name)
        if memo not in self._in_package:
            self._in_package[memo] = self._defined_in(package, name) or self._exported_from(package, name)
        return self._in_package[memo]

    def _defined_in(self, package: str, name: str) -> tuple[DefinedSymbol, ...]:
        self.dependencies.add(any_definition(name))
        wanted = f"{package}.{name}" if package else name
        found: list[DefinedSymbol] = []
        for symbol in self._world.named(name):
            unit = self.read(symbol.path)
            if unit is None or family_of(unit.language) != self._family:
                continue
            if symbol.key in unit.tops.get(name, ()) and unit.full_name(symbol.key) == wanted:
                found.append(DefinedSymbol(symbol.path, symbol.key))
        return self._first_opening(found)

    def _first_opening(self, found: list[DefinedSymbol]) -> tuple[DefinedSymbol, ...]:
        """Ruby's modules and classes are opened again and again: all openings are one symbol, whose first is named."""
        if self._unit.language != "ruby" or len(found) < 2 or not all(map(self._is_opened, found)):
            return tuple(found)
        return (min(found),)

    def first_opening(self, owner: DefinedSymbol) -> DefinedSymbol:
        """The opening that stands for all openings of a type."""
        if self._unit.language != "ruby":
            return owner
        return next(iter(self._defined_in(*_split(owner.key))), owner)

    def _is_opened(self, target: DefinedSymbol) -> bool:
        unit = self.read(target.path)
        return unit is not None and unit.kinds.get(target.key) in _OPENED

    def _exported_from(self, package: str, name: str) -> tuple[DefinedSymbol, ...]:
        """What a Rust module passes on: `pub use`. Whether it says `pub` is not asked: what is private is not used."""
        if self._unit.language != "rust":
            return ()
        seen: set[tuple[str, str]] = set()
        pending = [(package, name)]
        while pending and len(seen) < _MOST_WILDCARDS:
            here = pending.pop(0)
            if here in seen:
                continue
            seen.add(here)
            found = self._defined_in(*here) if here != (package, name) else ()
            if found:
                return found
            pending.extend(self._passed_on(*here))
        return ()

    def _passed_on(self, package: str, name: str) -> Iterator[tuple[str, str]]:
        for path, scope in self._rust_modules(package):
            unit = self.read(path)
            if unit is None:
                continue
            exact = unit.exact[scope].get(name) if scope in unit.exact else None
            if exact is not None:
                before, _, last = exact.rpartition(".")
                yield before, last
            for wildcard in unit.wildcards.get(scope, ()):
                yield wildcard, name

    def _rust_modules(self, package: str) -> Iterator[tuple[str, str]]:
        """The file of a module, or the file and the module inside it."""
        inner = ""
        outer = package
        for _ in range(_LONGEST_CHAIN):
            files = self.files_of(outer)
            if files:
                yield files[0].path, inner
                return
            if not outer:
                return
            outer, _, last = outer.rpartition(".")
            inner = f"{last}.{inner}".strip(".")

    def nested(self, package: str, name: str) -> tuple[DefinedSymbol, ...]:
        """A member imported by name: `import static a.B.c`, `use crate::a::B::c`."""
        outer, _, type_name = package.rpartition(".")
        for owner in self.in_package(outer, type_name) if type_name else ():
            found = self.own_member(owner, name)
            if found:
                return found
        if type_name[:1].isupper() and outer:
            for owner in self.nested(outer, type_name):
                found = self.own_member(owner, name)
                if found:
                    return found
        return ()

    def _anywhere(self, unit: Unit, name: str) -> Lookup:
        """The definitions of a name in the project: certain where names are global and there is one, else possible."""
        if not name[:1].isupper() or unit.language in ("c", "cpp"):
            return NOTHING
        self.dependencies.add(any_definition(name))
        found: list[DefinedSymbol] = []
        for symbol in self._world.named(name):
            other = self.read(symbol.path)
            if (
                other is not None
                and family_of(other.language) == self._family
                and symbol.key in other.tops.get(name, ())
            ):
                found.append(DefinedSymbol(symbol.path, symbol.key))
        if len({target.key for target in found}) == 1:
            found = list(self._first_opening(found))
        return Lookup(tuple(found), is_certain=unit.language == "ruby" and len(found) == 1) if found else NOTHING

    def linked(self, unit: Unit, name: str) -> Lookup | None:
        """C and C++: what included files define, the sources that belong to included headers, and what the linker could
        find: the only definition, those of a function that an included header declares (one for each platform, say),
        or perhaps any."""
        self.dependencies.add(any_definition(name))
        included = self._includes(unit.path)
        stems = {_stem(path) for path in included} | {_stem(unit.path)}
        near: list[DefinedSymbol] = []
        far: list[DefinedSymbol] = []
        for symbol in self._world.named(name):
            other = self.read(symbol.path)
            if other is None or family_of(other.language) != "c" or symbol.key not in other.tops.get(name, ()):
                continue
            is_near = symbol.path in included or (_stem(symbol.path) in stems and symbol.key not in other.file_local)
            if is_near:
                near.append(DefinedSymbol(symbol.path, symbol.key))
            elif symbol.key not in other.file_local:
                far.append(DefinedSymbol(symbol.path, symbol.key))
        is_included = any(target.path in included for target in near)
        if far and not is_included and len(near) + len(far) > 1:
            near += self._declared_together(name, unit.path, far)
        if near:
            return Lookup(tuple(near))
        return Lookup(tuple(far), is_certain=len(far) == 1) if far else None

    def _declared_together(self, name: str, path: str, targets: list[DefinedSymbol]) -> Iterator[DefinedSymbol]:
        """The definitions of a function in files that see the same declaration of it as a file."""
        declaring = frozenset(seen for seen in (path, *self._includes(path)) if self._declares(seen, name))
        return (target for target in targets if declaring and not declaring.isdisjoint(self._includes(target.path)))

    def _declares(self, path: str, name: str) -> bool:
        unit = self.read(path)
        return unit is not None and name in unit.prototypes

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

    def package_of(self, path: AccessPath, unit: Unit, within: str) -> str | None:
        """The package that a qualified name is looked up in: `store` of `store.Open`, `A.B` of `A::B.go`."""
        if UNKNOWN in path or any(step.endswith(("()", "]")) or step[:1] in ":#" for step in path):
            return None
        module = unit.module(within, path[0])
        if module is not None:
            return ".".join([module, *path[1:]]).strip(".")
        if unit.language == "rust":
            home = unit.module_home(within)
            return absolute_rust(".".join(path), home, crate_of(unit.path), self._world.paths, self._world.crates)
        return ".".join(path) if unit.language != "go" else None

    def in_namespace(self, unit: Unit, within: str, path: AccessPath, name: str) -> tuple[DefinedSymbol, ...]:
        """What PHP means by `Sub\\Name`: an imported namespace, one from the root, or one inside the file's own."""
        if not path[0]:
            return self.in_package(".".join(path[1:]), name)
        package = self.package_of(path, unit, within)
        if package is None:
            return ()
        found = self.in_package(package, name)
        return found or (self.in_package(f"{unit.home}.{package}", name) if unit.home else ())

    def read(self, path: str) -> Unit | None:
        """The interface of a file, which the answer depends on from now on."""
        self.dependencies.add(path)
        return self._world.unit(path)

    def own_member(self, owner: DefinedSymbol, name: str) -> tuple[DefinedSymbol, ...]:
        """The members of a name that a type has itself, in its file or beside it."""
        path, key = owner
        self.dependencies.add(any_definition(name))
        key = key.partition("#")[0]
        wanted = f"{key.rpartition('.')[2]}.{name}"
        found: list[DefinedSymbol] = []
        unit = self.read(path)
        for symbol in self._world.named(name):
            bare = symbol.key.partition("#")[0]
            if symbol.path == path and bare == f"{key}.{name}":
                found.append(DefinedSymbol(symbol.path, symbol.key))
            elif bare == wanted or bare.endswith(f".{wanted}"):
                if symbol.path == path and bare.rpartition(".")[0] in (unit.type_keys if unit is not None else ()):
                    continue  # of another type of that name in the file
                if symbol.path == path or self._is_beside(unit, symbol.path, bare):
                    found.append(DefinedSymbol(symbol.path, symbol.key))
        return self._first_opening(found)

    def _is_beside(self, unit: Unit | None, path: str, key: str) -> bool:
        """Whether a file may hold members of a type of another: same package, or header and source of one name."""
        other = self.read(path)
        if unit is None or other is None or family_of(other.language) != family_of(unit.language):
            return False
        container = key.rpartition(".")[0]
        if container in other.type_keys:
            return unit.language in ("csharp", "ruby") and other.home == unit.home  # partial and reopened types
        if family_of(unit.language) == "c":
            return (
                _stem(unit.path) == _stem(path)
                or path in self._includes(unit.path)
                or unit.path in self._includes(path)
            )
        if unit.language == "rust" and other.home != unit.home:
            scope, _, name = container.rpartition(".")
            return any(target.path == unit.path for target in self.visible(other, name, scope).targets)
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
            found = self._world.go_files(folder)
        return [DefinedSymbol(path, "") for path in found]


def _split(key: str) -> tuple[str, str]:
    before, _, last = key.rpartition(".")
    return before, last


def _stem(path: str) -> str:
    return basename(path).partition(".")[0]
