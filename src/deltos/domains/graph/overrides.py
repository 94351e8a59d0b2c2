"""Search for the members that a member implements or overrides, and for the members that implement or override it.

A call of a member of a base class, protocol or interface may run any member that implements it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.arity import parameter_count
from deltos.domains.graph.declared.languages import traits_of
from deltos.store.symbols import bare_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
_HEADER_SUFFIXES = (".h", ".hh", ".hpp", ".hxx")
_PATHS_PER_QUERY = 500


class OverrideFinder:
    """Finder of implemented members and overriding members for one query, with a cache of names and files.

    `is_truncated` means that not all definitions were compared because of the limit, so some members may be missing.
    """

    def __init__(self, reader: Graph, *, max_symbols: int = _MAX_COMPARED_SYMBOLS) -> None:
        self.is_truncated = False
        self._reader = reader
        self._remaining = max_symbols
        self._named: dict[str, list[Symbol]] = {}
        self._by_place: dict[str, dict[tuple[str, str], list[Symbol]]] = {}
        self._types_by_method: dict[str, set[tuple[str, str]]] = {}
        self._methods: dict[str, dict[str, set[str]]] = {}
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
        rows = [row for each in self._subclasses(classes) for row in self._members_named(each, member.name)]
        if any(map(_is_structural, classes)):
            rows += self._structural_implementations(member)
        found = {row.node_id: row for row in rows if _can_override_member(row, member)}
        found.pop(member.node_id, None)
        return [row for row in found.values() if (row.path, _owner(row)) != (member.path, owner)]

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

    def _method_names(self, path: str, owner: str) -> set[str]:
        """Return the names of the methods that a type defines itself, without inherited methods."""
        if path not in self._methods:
            grouped = self._methods[path] = {}
            for row in self._reader.symbols_in(path):
                if row.kind != "variable":
                    grouped.setdefault(_owner(row), set()).add(row.name)
        return self._methods[path].get(owner, set())

    def _types_with_method(self, name: str) -> set[tuple[str, str]]:
        """Return the types that have a method with this name."""
        if name not in self._types_by_method:
            self._types_by_method[name] = {
                _owner_location_and_name(row) for row in self._definitions_named(name) if row.kind != "variable"
            }
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
        classes = [*self._classes_of(member), member]  # for an unnamed class, the methods have the inherit edges
        seen = {row.node_id for row in classes}
        while classes:
            current = classes.pop()
            rows = self._reader.outgoing_references(current.path, [current.node_id])
            above = self._reader.symbols({row.target_id for row in rows if row.kind == "inherit"} - seen)
            seen |= above.keys()
            classes.extend(above.values())
            for base in above.values():
                yield from self._members_named(base, member.name)

    # --- types that implement an interface without naming it (Python protocols, Go interfaces)

    def _implemented_protocols(self, member: Symbol) -> Iterator[Symbol]:
        """Yield the members of protocols and interfaces that a member implements without naming the type."""
        if not _structural_suffix(member.path) or any(map(_is_structural, self._classes_of(member))):
            return
        rows = self._definitions_named(member.name)
        structural = self._structural_ids(rows)
        yield from (row for row in rows if row.node_id in structural and self._implements_all(row, member))

    def _structural_implementations(self, wanted: Symbol) -> list[Symbol]:
        """Return the members with the same name of all types that have all methods of a protocol or interface."""
        rows = [row for row in self._definitions_named(wanted.name) if self._implements_all(wanted, row)]
        structural = self._structural_ids(rows)
        return [row for row in rows if row.node_id not in structural]

    def _implements_all(self, wanted: Symbol, member: Symbol) -> bool:
        """Whether the type of `member` has all methods of the type of `wanted`."""
        own, other = _owner_location_and_name(member), _owner_location_and_name(wanted)
        if own == other or not own[1] or not other[1]:
            return False
        if _structural_suffix(member.path) != _structural_suffix(wanted.path):
            return False
        return all(own in self._types_with_method(name) for name in self._method_names(wanted.path, other[1]))

    def _structural_ids(self, rows: Sequence[Symbol]) -> set[int]:
        """Return the node ids of those rows that protocols and interfaces declare."""
        owners = self._reader.symbols_at({_owner_location(row) for row in rows})
        locations = {(owner.path, owner.key) for owner in owners if _is_structural(owner)}
        return {row.node_id for row in rows if _owner_location(row) in locations}


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


def _owner_location_and_name(member: Symbol) -> tuple[str, str]:
    """Return the location and name of a member's type; the location is a folder for Go and a file otherwise."""
    place = member.path.rpartition("/")[0] if traits_of(member.path).has_implicit_interfaces else member.path
    return place, _owner(member)


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
