"""Search for overridden and overriding members of types.

A call of a member of a base class, protocol or interface may run any member that implements it.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from deltos.domains.graph.arity import parameter_count
from deltos.domains.graph.declared.facts import SourceInterface
from deltos.domains.graph.declared.languages import traits_of
from deltos.domains.graph.declared.languages.go import interface_methods
from deltos.domains.graph.declared.languages.traits import last_part
from deltos.domains.graph.declared.types import parse_type
from deltos.store.symbols import bare_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.domains.graph.kernel.resolver import ProjectFacts
    from deltos.store.graph import Graph
    from deltos.store.symbols import Symbol

_MAX_COMPARED_SYMBOLS = 50_000  # maximum number of definitions compared per query, which takes half a second
_NEVER_OVERRIDDEN_NAMES = frozenset(
    {"__init__", "__new__", "__post_init__", "constructor", "__init_subclass__", "__construct"}
)
_CALLABLE_KINDS = frozenset({"function", "method", "component"})
_TYPE_KINDS = frozenset({"class", "interface", "enum", "type"})
# Modifiers before a name that prevent overriding.
_MODIFIERS_PREVENTING_OVERRIDES = frozenset({"private", "static"})
_VALUE_KINDS = frozenset({"variable", "property"})
_HEADER_SUFFIXES = (".h", ".hh", ".hpp", ".hxx")
_PATHS_PER_QUERY = 500


class OverrideFinder:
    """Finder of implemented members and overriding members for one query, with a cache of names and files.

    `is_truncated` means that not all definitions were compared because of the limit, so some members may be missing.
    """

    def __init__(self, reader: Graph, facts: ProjectFacts, *, max_symbols: int = _MAX_COMPARED_SYMBOLS) -> None:
        self.is_truncated = False
        self._reader = reader
        self._facts = facts
        self._remaining = max_symbols
        self._named: dict[str, list[Symbol]] = {}
        self._by_place: dict[str, dict[tuple[str, str], list[Symbol]]] = {}
        self._types_by_method: dict[str, dict[int, Symbol]] = {}
        self._included: dict[str, frozenset[str]] = {}

    def implemented_members(self, member: Symbol) -> list[Symbol]:
        """Return the members of base classes, protocols and interfaces that a member overrides or implements."""
        if not _owner(member) or not _can_be_overridden(member):
            return []
        rows = (*self._inherited_members(member), *self._implemented_protocols(member))
        found = {row.node_id: row for row in rows if _can_override_member(member, row)}
        found.pop(member.node_id, None)
        return list(found.values())

    def overriding_members(self, member: Symbol) -> list[Symbol]:
        """Return the members that override or implement a member."""
        owner = _owner(member)
        if not owner or not _can_be_overridden(member):
            return []
        if len(self._definitions_named(member.name)) < 2:
            return []
        classes = self._classes_of(member)
        can_inherit = [row for row in classes if _passes_on_overrides(row)]
        rows = [row for each in self._subclasses(can_inherit) for row in self._members_named(each, member.name)]
        rows += self._implementations(member, [row for row in classes if _is_structural(row)])
        found = {row.node_id: row for row in rows if _can_override_member(row, member)}
        found.pop(member.node_id, None)
        return [row for row in found.values() if (row.path, _owner(row)) != (member.path, owner)]

    def implementing_types(self, interface: Symbol) -> list[Symbol]:
        """Return the types that implement a protocol or interface without naming it."""
        names = self._required_methods(interface) if _is_structural(interface) else set()
        types_by_method = [self._types_with_method(name) for name in sorted(names)]
        common = set.intersection(*map(set, types_by_method)) if types_by_method else set()
        suffix = _structural_suffix(interface.path)
        return [
            row
            for node_id, row in (types_by_method[0].items() if types_by_method else ())
            if node_id in common and not _is_structural(row) and _structural_suffix(row.path) == suffix
        ]

    def may_implement(self, member: Symbol, type_name: str) -> bool | None:
        """Whether the type of a member implements a type of another package, or None if this is unknown."""
        classes = self._classes_of(member)
        if not traits_of(member.path).has_implicit_interfaces:
            outside = {name for row in classes for name in self._external_bases(row)}
            return type_name in outside or (None if outside else False)
        methods = interface_methods().get(type_name)
        if methods is None:
            return None
        types = {row.node_id for row in (*classes, *self._subclasses(classes))}
        return any(all(row in self._types_with_method(name) for name in methods) for row in types)

    def _external_bases(self, row: Symbol) -> set[str]:
        """Return the names of the types outside the project from which a type inherits, directly or indirectly."""
        found: set[str] = set()
        for each in (row, *self._base_types([row])):
            interface = self._facts.interface(each.path)
            scope = interface.scopes.get(each.key) if isinstance(interface, SourceInterface) else None
            names = {last_part(parse_type(base).name) for base in scope.bases} if scope is not None else set()
            found |= {name for name in names if not self._definitions_named(name)}
        return found

    # --- reading the store

    def _definitions_named(self, name: str) -> list[Symbol]:
        """Return the definitions with this name, up to the limit for the query."""
        if name not in self._named:
            rows = self._reader.symbols_named(name) if self._remaining else []
            self.is_truncated |= len(rows) > self._remaining or not self._remaining
            self._named[name] = rows = rows[: self._remaining]
            self._remaining -= len(rows)
        return self._named[name]

    def _definitions_by_owner_location(self, name: str) -> dict[tuple[str, str], list[Symbol]]:
        """Return the definitions of a name, grouped by the location and name of the type that may own them.

        The owning type may be in the same file, in the same folder, or in an included header.
        """
        if name not in self._by_place:
            grouped = self._by_place[name] = {}
            rows = self._definitions_named(name)
            self._read_includes([row.path for row in rows])
            for row in rows:
                owner = _owner(row)
                for place in {(row.path, owner), *self._type_locations(row.path, owner.rpartition(".")[2])}:
                    grouped.setdefault(place, []).append(row)
        return self._by_place[name]

    def _type_locations(self, path: str, owner: str) -> Iterator[tuple[str, str]]:
        """Yield the locations, other than `path`, at which the type that owns a definition in `path` may be defined."""
        if traits_of(path).has_methods_outside_types:
            yield path.rpartition("/")[0], owner
            yield from ((header, owner) for header in self._included.get(path, ()))

    def _read_includes(self, paths: Sequence[str]) -> None:
        """Read and cache the list of project headers that each C++ file includes."""
        new = [path for path in dict.fromkeys(paths) if traits_of(path).links_by_name and path not in self._included]
        for start in range(0, len(new), _PATHS_PER_QUERY):
            part = new[start : start + _PATHS_PER_QUERY]
            found = self._reader.imports_of(part)
            self._included |= {path: frozenset(filter(_is_header, found.get(path, ()))) for path in part}

    def _required_methods(self, interface: Symbol) -> set[str]:
        """Return the names of the methods that an interface or its bases declare."""
        names: set[str] = set()
        for row in (interface, *self._base_types([interface])):
            inside = self._reader.symbols_in(row.path)
            names |= {each.name for each in inside if _owner(each) == row.label and each.kind != "variable"}
        return names

    def _types_with_method(self, name: str) -> dict[int, Symbol]:
        """Return the types that define or inherit a method with this name, by node id."""
        if name not in self._types_by_method:
            rows = [row for row in self._definitions_named(name) if _owner(row) and row.kind not in _VALUE_KINDS]
            types = {owner.node_id: owner for _, owner in self._members_with_types(rows)}
            types |= {row.node_id: row for row in self._subclasses(list(types.values()))}
            self._types_by_method[name] = types
        return self._types_by_method[name]

    # --- classes

    def _classes_of(self, member: Symbol) -> list[Symbol]:
        """Return the class of a member, from the same file or, if the language allows it, from another file."""
        owner = _owner(member)
        rows = self._definitions_named(owner.rpartition(".")[2])
        here = [row for row in rows if row.path == member.path and row.label == owner]
        if here or not traits_of(member.path).has_methods_outside_types:
            return here
        return [row for row in rows if row.kind in _TYPE_KINDS and self._may_own(member, row)]

    def _members_with_types(self, members: Sequence[Symbol]) -> Iterator[tuple[Symbol, Symbol]]:
        """Yield each member with the types that may contain it."""
        # Types in the same file are read with one query, because a name may have hundreds of definitions.
        here = {(row.path, row.key): row for row in self._reader.symbols_at(set(map(_owner_location, members)))}
        for row in members:
            owner = here.get(_owner_location(row))
            yield from ((row, each) for each in ([owner] if owner is not None else self._classes_of(row)))

    def _subclasses(self, classes: Sequence[Symbol]) -> Sequence[Symbol]:
        """Return all direct and indirect subclasses in the project."""
        start = {row.node_id for row in classes}
        seen, frontier = set(start), start
        while frontier:
            frontier = self._reader.subclasses(frontier) - seen
            seen |= frontier
        return tuple(self._reader.symbols(seen - start).values())

    def _members_named(self, owner: Symbol, name: str) -> list[Symbol]:
        """Return the members of a class with a given name, including members defined outside it in Go, Rust and C++."""
        if owner.kind in _CALLABLE_KINDS:  # an unnamed class has no symbol of its own; only its methods have symbols
            return [owner] if owner.name == name else []
        owned = self._definitions_by_owner_location(name)
        rows = [*owned.get((owner.path, owner.label), ())]
        for place in (
            (owner.path, owner.path.rpartition("/")[0]) if traits_of(owner.path).has_methods_outside_types else ()
        ):
            rows += [row for row in owned.get((place, owner.name), ()) if row.path != owner.path]
        return list({row.node_id: row for row in rows}.values())

    def _may_own(self, member: Symbol, row: Symbol) -> bool:
        """Whether a class in another file may be the class that contains a member."""
        self._read_includes([member.path])
        locations = {place for place, _ in self._type_locations(member.path, "")}
        return traits_of(row.path).has_methods_outside_types and not locations.isdisjoint(
            {row.path, row.path.rpartition("/")[0]}
        )

    def _inherited_members(self, member: Symbol) -> Iterator[Symbol]:
        """Yield the members with the same name in the base classes of the project."""
        # An unnamed class has no symbol, so its base classes are stored as edges of its methods.
        for base in self._base_types([*self._classes_of(member), member]):
            if _passes_on_overrides(base):
                yield from self._members_named(base, member.name)

    def _base_types(self, classes: list[Symbol]) -> Iterator[Symbol]:
        """Yield all direct and indirect base types in the project."""
        seen = {row.node_id for row in classes}
        pending = list(classes)
        while pending:
            current = pending.pop()
            rows = self._reader.outgoing_references(current.path, [current.node_id])
            above = self._reader.symbols({row.target_id for row in rows if row.kind == "inherit"} - seen)
            seen |= above.keys()
            pending.extend(above.values())
            yield from above.values()

    # --- types that implement an interface without naming it (Python protocols, Go interfaces)

    def _implemented_protocols(self, member: Symbol) -> Iterator[Symbol]:
        """Yield the members of protocols and interfaces that a member implements without naming the type."""
        if not _structural_suffix(member.path) or any(map(_is_structural, self._classes_of(member))):
            return
        for row, owner in self._members_with_types(self._definitions_named(member.name)):
            if _is_structural(owner) and member.node_id in {
                each.node_id for each in self._implementations(row, [owner])
            }:
                yield row

    def _implementations(self, wanted: Symbol, interfaces: Sequence[Symbol]) -> list[Symbol]:
        """Return the methods that a call of an interface's method may run, including inherited methods."""
        found: list[Symbol] = []
        for row in (each for interface in interfaces for each in self.implementing_types(interface)):
            bases = self._base_types([row])
            methods = (self._members_named(each, wanted.name) for each in chain([row], bases))
            found += next(filter(None, methods), ())
        return found


def _owner(member: Symbol) -> str:
    """Return the dotted name of the type that contains a member."""
    return bare_key(member.key).rpartition(".")[0]


def _owner_location(member: Symbol) -> tuple[str, str]:
    """Return the path and key of the type that contains a member."""
    return member.path, member.key.rpartition(".")[0]


def _can_be_overridden(member: Symbol) -> bool:
    """Whether a subclass can override a member."""
    if member.name in _NEVER_OVERRIDDEN_NAMES or member.kind in _TYPE_KINDS:
        return False
    before = member.signature.partition("(")[0].split()
    return not (traits_of(member.path).has_modifiers and _MODIFIERS_PREVENTING_OVERRIDES.intersection(before))


def _can_override_member(lower: Symbol, upper: Symbol) -> bool:
    """Whether `lower` can override `upper`: both have the same name, kind and number of parameters."""
    if (lower.kind in _CALLABLE_KINDS) != (upper.kind in _CALLABLE_KINDS) or not _can_be_overridden(upper):
        return False
    takes, given = parameter_count(lower), parameter_count(upper)
    return takes is None or given is None or takes == given


def _passes_on_overrides(row: Symbol) -> bool:
    """Whether a call of a type's method may run an override; calls of an embedded Go struct cannot."""
    return not traits_of(row.path).has_implicit_interfaces or row.kind == "interface"


def _structural_suffix(path: str) -> str:
    """Return the file suffix of Python or Go, which have structural typing, or an empty string."""
    suffix = path.rpartition(".")[2].removesuffix("i")
    return suffix if suffix in ("py", "go") else ""


def _is_header(path: str) -> bool:
    return path.endswith(_HEADER_SUFFIXES)


def _is_structural(row: Symbol) -> bool:
    """Whether other types can implement a type without naming it, as with Python protocols and Go interfaces."""
    if traits_of(row.path).has_implicit_interfaces:
        return row.kind == "interface"
    return row.path.endswith((".py", ".pyi")) and ("Protocol" in row.signature)
