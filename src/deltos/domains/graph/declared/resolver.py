"""References by declarations: a name means what its imports, its package and its enclosing type let it mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.domains.graph.declared.extract import UNKNOWN, extract
from deltos.domains.graph.declared.imports import included_file
from deltos.domains.graph.declared.shapes import SHAPES
from deltos.domains.graph.declared.visibility import Visibility
from deltos.domains.graph.declared.world import Definition, World
from deltos.domains.graph.kernel.codec import MarshalCodec
from deltos.domains.graph.model import Edge, Import, Resolution

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from deltos.domains.graph.declared.extract import Path
    from deltos.domains.graph.declared.world import Unit
    from deltos.domains.graph.model import EdgeKind, FileFacts, ProjectFacts
    from deltos.workspace.indexer import ParsedFile

_DEEPEST = 8
"""How many bases, aliases and chained calls are followed."""
_ROLES: dict[str, EdgeKind] = {"call": "call", "type": "type", "inherit": "inherit", "decorate": "decorate"}


class DeclaredTypesResolver:
    """Go, Java, Kotlin, C#, Rust, C, C++, PHP and Ruby."""

    languages = frozenset(SHAPES)
    codec = MarshalCodec()

    def extract(self, file: ParsedFile) -> FileFacts:
        """Facts about one file, independent of all others."""
        return extract(file)

    def resolve(self, project: ProjectFacts, paths: Collection[str]) -> Iterator[Resolution]:
        """Resolve the named files against the whole project."""
        world = World(project)
        for path in sorted(paths):
            facts, unit = project.facts(path), world.unit(path)
            if facts is not None and facts.body is not None and unit is not None:
                yield FileResolver(world, unit).resolve(facts.body)
            else:
                yield Resolution(path, (), (), frozenset())


class FileResolver(Visibility):
    """Resolves the uses of one file."""

    def __init__(self, world: World, unit: Unit) -> None:
        super().__init__(world, unit)
        self._locals: dict[str, dict[str, Path]] = {}

    def resolve(self, body: Any) -> Resolution:
        """All edges and imports of the file."""
        uses, self._locals, lines = body
        edges: dict[tuple[int, str, str, str, EdgeKind], bool] = {}
        for line, source, name, role, receiver in uses:
            kind = _ROLES.get(role, "read")
            targets, certain = self._targets(source, name, receiver)
            for path, key in targets:
                place = (line, source, path, key, kind)
                edges[place] = edges.get(place, False) or certain
            if not targets and receiver is not None and not self._is_external(source, receiver[0]):
                edges.setdefault((line, source, "", name, kind), False)
        imports, external, unresolved = self._resolve_imports(lines)
        for item, key in imports:
            edges[(item.line, "", item.target_path, key, "import")] = True
        return Resolution(
            self._unit.path,
            tuple(_edge(place, certain) for place, certain in sorted(edges.items())),
            tuple(dict.fromkeys(item for item, _ in imports)),
            frozenset(self._dependencies - {self._unit.path}),
            external,
            unresolved,
        )

    # --- what a use means

    def _targets(self, source: str, name: str, receiver: Path | None) -> tuple[tuple[Definition, ...], bool]:
        if receiver is None:
            return self._plain(source, name)
        owner, certain = self._followed(source, receiver, 0)
        if owner is None:
            package = self._package_of(receiver)
            return (self._in_package(package, name), True) if package else ((), False)
        return self._member(owner, name, 0), certain

    def _is_external(self, source: str, first: str) -> bool:
        """Whether a path starts at something that was imported and is not of the project."""
        if first not in self._unit.modules or first in self._locals.get(source, {}):
            return False
        return not self.visible(self._unit, first)[0] and not self._files_of(self._unit.modules[first])

    def _plain(self, source: str, name: str) -> tuple[tuple[Definition, ...], bool]:
        """A name by itself: a local variable is nothing, then a member of an enclosing type, then what is visible."""
        if name in self._locals.get(source, {}):
            return (), False
        for owner in self._own_types(source) if self._shape.implicit_receiver else ():
            if owner[1].rpartition(".")[2] == name:
                return (owner,), True  # the type itself, not its constructor
            found = self._member(owner, name, 0)
            if found:
                return found, True
        return self.visible(self._unit, name)

    def _own_types(self, source: str) -> Iterator[Definition]:
        """The types around a definition, innermost first."""
        key = source
        while key:
            if key in self._unit.type_keys:
                yield self._unit.path, key
            key = key.rpartition(".")[0]
        container = source.rpartition(".")[0]
        if container and container not in self._unit.type_keys:
            # A method outside its class, as C++ and Go write it: the class may be in another file.
            for target in self.visible(self._unit, container.rpartition(".")[2])[0]:
                if target[0] != self._unit.path:
                    yield target

    def _followed(self, source: str, path: Path, depth: int) -> tuple[Definition | None, bool]:
        """The type that a path leads to."""
        if UNKNOWN in path or depth > _DEEPEST or not path:
            return None, False
        owner, certain = self._first_step(source, path[0], depth)
        rest = path[1:]
        if owner is None and rest and path[0] in self._unit.modules:
            owner, certain = self._from_package(self._unit.modules[path[0]], rest[0], depth)
            rest = rest[1:]
        for step in rest:
            if owner is None:
                return None, False
            owner = self._type_of_member(owner, step, depth)
        return owner, certain

    def _from_package(self, package: str, step: str, depth: int) -> tuple[Definition | None, bool]:
        """The type that a qualified name is, or that the function it names returns."""
        for target in self._in_package(package, step.removesuffix("()")):
            found = target if self._is_type(target) else self._returned(target, depth)
            if found is not None:
                return found, True
        return None, False

    def _first_step(self, source: str, step: str, depth: int) -> tuple[Definition | None, bool]:
        name = step.removesuffix("()")
        if name in self._shape.receivers:
            return self._receiver(source, name)
        declared = self._locals.get(source, {}).get(name)
        if declared is not None and not step.endswith("()"):
            return self._declared(self._unit, source, declared, depth)
        if self._shape.implicit_receiver or name.startswith("@"):
            for owner in self._own_types(source):
                found = self._type_of_member(owner, step, depth)
                if found is not None:
                    return found, True
        targets, certain = self.visible(self._unit, name)
        for target in targets:
            if self._is_type(target):
                return target, certain
            returned = self._returned(target, depth) if step.endswith("()") else None
            if returned is not None:
                return returned, certain
        return None, False

    def _receiver(self, source: str, name: str) -> tuple[Definition | None, bool]:
        for owner in self._own_types(source):
            if name in ("super", "base", "parent", "super_expression"):
                bases = list(self._bases(owner))
                return (bases[0], True) if bases else (None, False)
            return owner, True
        return None, False

    def _declared(self, unit: Unit, source: str, declared: Path, depth: int) -> tuple[Definition | None, bool]:
        """The type that a declaration names, or that the value it starts with leads to."""
        if unit is self._unit and (len(declared) > 1 or declared[0].endswith("()")):
            shadow = self._locals.get(source, {})
            if declared[0].removesuffix("()") not in shadow or depth < _DEEPEST:
                owner, certain = self._followed(source, declared, depth + 1)
                if owner is not None:
                    return owner, certain
        return self._type_named(unit, declared)

    def _type_named(self, unit: Unit, path: Path) -> tuple[Definition | None, bool]:
        if UNKNOWN in path:
            return None, False
        name = path[-1].removesuffix("()")
        if len(path) > 1 and path[0] in unit.modules:
            targets: tuple[Definition, ...] = self._in_package(unit.modules[path[0]], name)
            certain = True
        else:
            targets, certain = self.visible(unit, name)
        return next(((target, certain) for target in targets if self._is_type(target)), (None, False))

    # --- members

    def _member(self, owner: Definition, name: str, depth: int) -> tuple[Definition, ...]:
        """A member of a type: in its file, beside it, or in a base."""
        if depth > _DEEPEST:
            return ()
        found = self._own_member(owner, name)
        if found:
            return found
        for base in self._bases(owner):
            inherited = self._member(base, name, depth + 1)
            if inherited:
                return inherited
        return ()

    def _type_of_member(self, owner: Definition, step: str, depth: int) -> Definition | None:
        """The type of a field, or what a method returns."""
        name = step.removesuffix("()")
        for candidate in (owner, *self._all_bases(owner)):
            unit = self._read(candidate[0])
            if unit is None:
                continue
            if not step.endswith("()"):
                declared = unit.scopes.get(candidate[1], ({}, (), ()))[0].get(name)
                if declared is not None:
                    return self._declared(unit, candidate[1], declared, depth + 1)[0]
        for member in self._member(owner, name, 0):
            if self._is_type(member):
                return member
            return self._returned(member, depth)
        if name in ("new", "instance", "getInstance") and step.endswith("()"):
            return owner
        return None

    def _returned(self, function: Definition, depth: int) -> Definition | None:
        unit = self._read(function[0])
        if unit is None or depth > _DEEPEST:
            return None
        returns = unit.scopes.get(function[1], ({}, (), ()))[2]
        if not returns:
            return None
        if returns[-1] in ("Self", "self", "static"):
            container = function[1].rpartition(".")[0]
            return (function[0], container) if container else None
        return self._type_named(unit, returns)[0]

    def _bases(self, owner: Definition) -> Iterator[Definition]:
        unit = self._read(owner[0])
        if unit is None:
            return
        for base in unit.scopes.get(owner[1], ({}, (), ()))[1]:
            found, _ = self._type_named(unit, base)
            if found is not None and found != owner:
                yield found

    def _all_bases(self, owner: Definition) -> list[Definition]:
        seen = {owner: None}
        pending = [owner]
        while pending and len(seen) < 64:
            for base in self._bases(pending.pop()):
                if base not in seen:
                    seen[base] = None
                    pending.append(base)
        return list(seen)[1:]

    def _is_type(self, definition: Definition) -> bool:
        unit = self._read(definition[0])
        return unit is not None and definition[1].partition("#")[0] in unit.type_keys

    # --- imports

    def _resolve_imports(self, lines: tuple[int, ...]) -> tuple[list[tuple[Import, str]], int, int]:
        found: list[tuple[Import, str]] = []
        external = unresolved = 0
        for line, (how, name, alias) in zip(lines, self._unit.imports, strict=True):
            targets = list(dict.fromkeys(self._imported(how, name, alias)))
            found.extend((Import(line, path, "runtime"), key) for path, key in targets if path != self._unit.path)
            if not targets:
                is_ours = how == "file" and alias != "system"
                external += not is_ours
                unresolved += is_ours
        return found, external, unresolved

    def _imported(self, how: str, name: str, alias: str) -> Iterable[Definition]:
        if how == "file":
            self._dependencies.add(f"*/{name.rpartition('/')[2].partition('.')[0]}")
            target = included_file(name, self._unit.path, self._world.paths, self._world.by_file_name)
            return [] if target is None else [(target, "")]
        if how in ("name", "member"):
            full = self._unit.exact[alias]
            package, _, last = full.rpartition(".")
            return self._in_package(package, last) or self._nested(package, last) or self._files_of(full)
        full = self._unit.modules.get(alias, "") if how == "module" else self._absolute_wildcard(name)
        return self._files_of(full)

    def _absolute_wildcard(self, name: str) -> str:
        position = [item for item in self._unit.imports if item[0] == "all"].index(
            next(item for item in self._unit.imports if item[0] == "all" and item[1] == name)
        )
        return self._unit.wildcards[position]


def _edge(place: tuple[int, str, str, str, EdgeKind], certain: bool) -> Edge:
    line, source, path, key, kind = place
    return Edge(line, source, path, key, kind, "scope" if certain else "name", certain=certain)
