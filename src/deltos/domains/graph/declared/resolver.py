"""References by declarations: a name means what its imports, its package and its enclosing type let it mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.declared.extract import extract
from deltos.domains.graph.declared.facts import UNKNOWN, ScopeTypes, SourceBody, declared_codec
from deltos.domains.graph.declared.shapes import SHAPES
from deltos.domains.graph.declared.visibility import NOTHING, Lookup, Visibility
from deltos.domains.graph.declared.world import DefinedSymbol, World
from deltos.domains.graph.kernel.resolver import Resolution
from deltos.domains.graph.model import Edge, Import

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from deltos.domains.graph.declared.facts import AccessPath, ImportClause
    from deltos.domains.graph.declared.world import Unit
    from deltos.domains.graph.kernel.resolver import FileFacts, ProjectFacts
    from deltos.domains.graph.model import EdgeKind
    from deltos.workspace.indexer import ParsedFile

_DEEPEST = 8
"""How many bases, aliases and chained calls are followed."""
_NO_TYPES = ScopeTypes()
_ROLES: dict[str, EdgeKind] = {"call": "call", "type": "type", "inherit": "inherit", "decorate": "decorate"}


class DeclaredTypesResolver:
    """Go, Java, Kotlin, C#, Rust, C, C++, PHP and Ruby."""

    languages = frozenset(SHAPES)
    codec = declared_codec()

    def extract(self, file: ParsedFile) -> FileFacts:
        """Facts about one file, independent of all others."""
        return extract(file)

    def resolve(self, project: ProjectFacts, paths: Collection[str]) -> Iterator[Resolution]:
        """Resolve the named files against the whole project."""
        world = World(project)
        for path in sorted(paths):
            facts, unit = project.facts(path), world.unit(path)
            if facts is not None and isinstance(facts.body, SourceBody) and unit is not None:
                yield FileResolver(world, unit).resolve(facts.body)
            else:
                yield Resolution(path, (), (), frozenset())


class _Reference(NamedTuple):
    """An edge but for its certainty; in the order in which edges are sorted."""

    line: int
    source: str
    path: str
    key: str
    kind: EdgeKind

    def edge(self, *, is_certain: bool) -> Edge:
        """The edge, with the rule that its certainty tells."""
        return Edge(*self, "scope" if is_certain else "name", certain=is_certain)


class ResolvedType(NamedTuple):
    """The type that an expression or a declaration has, where it is known."""

    owner: DefinedSymbol | None
    is_certain: bool = True


_UNTYPED = ResolvedType(None, is_certain=False)


class FileResolver:
    """Resolves the uses of one file."""

    def __init__(self, world: World, unit: Unit) -> None:
        self._unit = unit
        self._shape = SHAPES[unit.language]
        self._names = Visibility(world, unit)
        self._locals: dict[str, dict[str, AccessPath]] = {}

    def resolve(self, body: SourceBody) -> Resolution:
        """All edges and imports of the file."""
        self._locals = body.locals
        edges: dict[_Reference, bool] = {}
        for use in body.uses:
            kind = _ROLES.get(use.role, "read")
            found = self._targets(use.source, use.name, use.receiver)
            for path, key in found.targets:
                reference = _Reference(use.line, use.source, path, key, kind)
                edges[reference] = edges.get(reference, False) or found.is_certain
            if not found.targets and use.receiver is not None and not self._is_external(use.source, use.receiver[0]):
                edges.setdefault(_Reference(use.line, use.source, "", use.name, kind), False)
        imports, external, unresolved = self._resolve_imports(body.import_lines)
        for item, key in imports:
            edges[_Reference(item.line, "", item.target_path, key, "import")] = True
        return Resolution(
            self._unit.path,
            tuple([reference.edge(is_certain=certain) for reference, certain in sorted(edges.items())]),
            tuple(dict.fromkeys(item for item, _ in imports)),
            frozenset(self._names.dependencies - {self._unit.path}),
            external,
            unresolved,
        )

    # --- what a use means

    def _targets(self, source: str, name: str, receiver: AccessPath | None) -> Lookup:
        if receiver is None:
            return self._plain(source, name)
        owner, is_certain = self._followed(source, receiver, 0)
        if owner is None:
            package = self._names.package_of(receiver)
            return Lookup(self._names.in_package(package, name)) if package else NOTHING
        return Lookup(self._member(owner, name, 0), is_certain)

    def _is_external(self, source: str, first: str) -> bool:
        """Whether a path starts at something that was imported and is not of the project."""
        if first not in self._unit.modules or first in self._locals.get(source, {}):
            return False
        names = self._names
        return not names.visible(self._unit, first).targets and not names.files_of(self._unit.modules[first])

    def _plain(self, source: str, name: str) -> Lookup:
        """A name by itself: a local variable is nothing, then a member of an enclosing type, then what is visible."""
        if name in self._locals.get(source, {}):
            return NOTHING
        for owner in self._own_types(source) if self._shape.implicit_receiver else ():
            if owner.key.rpartition(".")[2] == name:
                return Lookup((owner,))  # the type itself, not its constructor
            found = self._member(owner, name, 0)
            if found:
                return Lookup(found)
        return self._names.visible(self._unit, name)

    def _own_types(self, source: str) -> Iterator[DefinedSymbol]:
        """The types around a definition, innermost first."""
        key = source
        while key:
            if key in self._unit.type_keys:
                yield DefinedSymbol(self._unit.path, key)
            key = key.rpartition(".")[0]
        container = source.rpartition(".")[0]
        if container and container not in self._unit.type_keys:
            # A method outside its class, as C++ and Go write it: the class may be in another file.
            for target in self._names.visible(self._unit, container.rpartition(".")[2]).targets:
                if target.path != self._unit.path:
                    yield target

    def _followed(self, source: str, path: AccessPath, depth: int) -> ResolvedType:
        """The type that a path leads to."""
        if UNKNOWN in path or depth > _DEEPEST or not path:
            return _UNTYPED
        owner, certain = self._first_step(source, path[0], depth)
        rest = path[1:]
        if owner is None and rest and path[0] in self._unit.modules:
            owner, certain = self._from_package(self._unit.modules[path[0]], rest[0], depth)
            rest = rest[1:]
        for step in rest:
            if owner is None:
                return _UNTYPED
            owner = self._type_of_member(owner, step, depth)
        return ResolvedType(owner, certain)

    def _from_package(self, package: str, step: str, depth: int) -> ResolvedType:
        """The type that a qualified name is, or that the function it names returns."""
        for target in self._names.in_package(package, step.removesuffix("()")):
            found = target if self._is_type(target) else self._returned(target, depth)
            if found is not None:
                return ResolvedType(found)
        return _UNTYPED

    def _first_step(self, source: str, step: str, depth: int) -> ResolvedType:
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
                    return ResolvedType(found)
        targets, certain = self._names.visible(self._unit, name)
        for target in targets:
            if self._is_type(target):
                return ResolvedType(target, certain)
            returned = self._returned(target, depth) if step.endswith("()") else None
            if returned is not None:
                return ResolvedType(returned, certain)
        return _UNTYPED

    def _receiver(self, source: str, name: str) -> ResolvedType:
        for owner in self._own_types(source):
            if name in ("super", "base", "parent", "super_expression"):
                base = next(self._bases(owner), None)
                return _UNTYPED if base is None else ResolvedType(base)
            return ResolvedType(owner)
        return _UNTYPED

    def _declared(self, unit: Unit, source: str, declared: AccessPath, depth: int) -> ResolvedType:
        """The type that a declaration names, or that the value it starts with leads to."""
        if unit is self._unit and (len(declared) > 1 or declared[0].endswith("()")):
            shadow = self._locals.get(source, {})
            if declared[0].removesuffix("()") not in shadow or depth < _DEEPEST:
                followed = self._followed(source, declared, depth + 1)
                if followed.owner is not None:
                    return followed
        return self._type_named(unit, declared)

    def _type_named(self, unit: Unit, path: AccessPath) -> ResolvedType:
        if UNKNOWN in path:
            return _UNTYPED
        name = path[-1].removesuffix("()")
        if len(path) > 1 and path[0] in unit.modules:
            found = Lookup(self._names.in_package(unit.modules[path[0]], name))
        else:
            found = self._names.visible(unit, name)
        types = (ResolvedType(target, found.is_certain) for target in found.targets if self._is_type(target))
        return next(types, _UNTYPED)

    # --- members

    def _member(self, owner: DefinedSymbol, name: str, depth: int) -> tuple[DefinedSymbol, ...]:
        """A member of a type: in its file, beside it, or in a base."""
        if depth > _DEEPEST:
            return ()
        found = self._names.own_member(owner, name)
        if found:
            return found
        for base in self._bases(owner):
            inherited = self._member(base, name, depth + 1)
            if inherited:
                return inherited
        return ()

    def _type_of_member(self, owner: DefinedSymbol, step: str, depth: int) -> DefinedSymbol | None:
        """The type of a field, or what a method returns."""
        name = step.removesuffix("()")
        for candidate in (owner, *self._all_bases(owner)):
            unit = self._names.read(candidate.path)
            if unit is not None and not step.endswith("()"):
                declared = unit.scopes.get(candidate.key, _NO_TYPES).types.get(name)
                if declared is not None:
                    return self._declared(unit, candidate.key, declared, depth + 1).owner
        for member in self._member(owner, name, 0):
            if self._is_type(member):
                return member
            return self._returned(member, depth)
        if name in ("new", "instance", "getInstance") and step.endswith("()"):
            return owner
        return None

    def _returned(self, function: DefinedSymbol, depth: int) -> DefinedSymbol | None:
        unit = self._names.read(function.path)
        if unit is None or depth > _DEEPEST:
            return None
        returns = unit.scopes.get(function.key, _NO_TYPES).returns
        if not returns:
            return None
        if returns[-1] in ("Self", "self", "static"):
            container = function.key.rpartition(".")[0]
            return DefinedSymbol(function.path, container) if container else None
        return self._type_named(unit, returns).owner

    def _bases(self, owner: DefinedSymbol) -> Iterator[DefinedSymbol]:
        unit = self._names.read(owner.path)
        if unit is None:
            return
        for base in unit.scopes.get(owner.key, _NO_TYPES).bases:
            found = self._type_named(unit, base).owner
            if found is not None and found != owner:
                yield found

    def _all_bases(self, owner: DefinedSymbol) -> list[DefinedSymbol]:
        seen = {owner: None}
        pending = [owner]
        while pending and len(seen) < 64:
            for base in self._bases(pending.pop()):
                if base not in seen:
                    seen[base] = None
                    pending.append(base)
        return list(seen)[1:]

    def _is_type(self, definition: DefinedSymbol) -> bool:
        unit = self._names.read(definition.path)
        return unit is not None and definition.key.partition("#")[0] in unit.type_keys

    # --- imports

    def _resolve_imports(self, lines: tuple[int, ...]) -> tuple[list[tuple[Import, str]], int, int]:
        found: list[tuple[Import, str]] = []
        external = unresolved = 0
        for line, clause in zip(lines, self._unit.imports, strict=True):
            targets = list(dict.fromkeys(self._imported(clause)))
            found.extend((Import(line, path, "runtime"), key) for path, key in targets if path != self._unit.path)
            if not targets:
                is_ours = clause.how == "file" and clause.alias != "system"
                external += not is_ours
                unresolved += is_ours
        return found, external, unresolved

    def _imported(self, clause: ImportClause) -> Iterable[DefinedSymbol]:
        names = self._names
        if clause.how == "file":
            target = names.included(self._unit, clause.name)
            return [] if target is None else [DefinedSymbol(target, "")]
        if clause.how in ("name", "member"):
            full = self._unit.exact[clause.alias]
            package, _, last = full.rpartition(".")
            return names.in_package(package, last) or names.nested(package, last) or names.files_of(full)
        if clause.how == "module":
            return names.files_of(self._unit.modules.get(clause.alias, ""))
        wildcards = [each.name for each in self._unit.imports if each.how == "all"]
        return names.files_of(self._unit.wildcards[wildcards.index(clause.name)])
