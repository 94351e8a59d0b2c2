"""Which members stand in for each other: those of bases, protocols and interfaces that a member implements or
overrides, and those that implement or override it. A call to one of the former may run one of the latter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.arity import parameter_count
from deltos.store.symbols import bare_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.store.graph import Graph
    from deltos.store.symbols import Symbol

_MOST_SYMBOLS = 50_000  # that are compared for one question; half a second
_UNSHARED = frozenset({"__init__", "__new__", "__post_init__", "constructor", "__init_subclass__", "__construct"})
_CALLABLE = frozenset({"function", "method", "component"})
_TYPES = frozenset({"class", "interface", "enum", "type"})
# Words before a name that keep it from being overridden, where languages write them.
_OWN_ALONE = frozenset({"private", "static"})
_MODIFIED = (".java", ".kt", ".cs", ".php")
_HEADERS = (".h", ".hh", ".hpp", ".hxx")
_CPP = (*_HEADERS, ".cc", ".cpp", ".cxx")
_APART = (".go", ".rs", *_CPP)  # files in which a method may stand apart from its type
_PATHS_TOGETHER = 500  # in one question to the store


class Relatives:
    """Finds them for one question; reads every name and every file once.

    `is_cut`: more definitions had to be compared than one question may cost, so that some may be missing.
    """

    def __init__(self, reader: Graph, *, most_symbols: int = _MOST_SYMBOLS) -> None:
        self.is_cut = False
        self._reader = reader
        self._left = most_symbols
        self._named: dict[str, list[Symbol]] = {}
        self._by_place: dict[str, dict[tuple[str, str], list[Symbol]]] = {}
        self._having: dict[str, set[tuple[str, str]]] = {}
        self._methods: dict[str, dict[str, set[str]]] = {}
        self._included: dict[str, frozenset[str]] = {}

    def implemented_by(self, member: Symbol) -> list[Symbol]:
        """The members of the same name that a class inherits or, where classes need not say so, fulfils."""
        if not _owner(member) or not _is_shared(member):
            return []
        rows = (*self._inherited(member), *self._fulfilled(member))
        found = {row.node_id: row for row in rows if _stands_in(member, row)}
        found.pop(member.node_id, None)
        return list(found.values())

    def implementations_of(self, member: Symbol) -> list[Symbol]:
        """The members of the same name in classes that inherit from a member's own, or fulfil its protocol or
        interface."""
        owner = _owner(member)
        if not owner or not _is_shared(member):
            return []
        if len(self._namesakes(member.name)) < 2:
            return []
        classes = self._classes_of(member)
        rows = [row for each in self._subclasses(classes) for row in self._members(each, member.name)]
        if any(map(_is_structural, classes)):
            rows += self._fulfilling(member)
        found = {row.node_id: row for row in rows if _stands_in(row, member)}
        found.pop(member.node_id, None)
        return [row for row in found.values() if (row.path, _owner(row)) != (member.path, owner)]

    # --- what is read

    def _namesakes(self, name: str) -> list[Symbol]:
        """The definitions of a name, as far as the question may cost."""
        if name not in self._named:
            rows = self._reader.symbols_named(name) if self._left else []
            self.is_cut |= len(rows) > self._left or not self._left
            self._named[name] = rows = rows[: self._left]
            self._left -= len(rows)
        return self._named[name]

    def _owned(self, name: str) -> dict[tuple[str, str], list[Symbol]]:
        """The definitions of a name by where their types may be: in the same file, in the same folder, or in a header
        that is included; and by the types' names."""
        if name not in self._by_place:
            grouped = self._by_place[name] = {}
            rows = self._namesakes(name)
            self._read_includes([row.path for row in rows])
            for row in rows:
                owner = _owner(row)
                for place in {(row.path, owner), *self._places_apart(row.path, owner.rpartition(".")[2])}:
                    grouped.setdefault(place, []).append(row)
        return self._by_place[name]

    def _places_apart(self, path: str, owner: str) -> Iterator[tuple[str, str]]:
        if path.endswith(_APART):
            yield path.rpartition("/")[0], owner
            yield from ((header, owner) for header in self._included.get(path, ()))

    def _read_includes(self, paths: Sequence[str]) -> None:
        """Learn which headers of the project some files of C++ include."""
        new = [path for path in dict.fromkeys(paths) if path.endswith(_CPP) and path not in self._included]
        for start in range(0, len(new), _PATHS_TOGETHER):
            part = new[start : start + _PATHS_TOGETHER]
            found = self._reader.imports_of(part)
            self._included |= {path: frozenset(filter(_is_header, found.get(path, ()))) for path in part}

    def _methods_of(self, path: str, owner: str) -> set[str]:
        """The names of a type's own functions."""
        if path not in self._methods:
            grouped = self._methods[path] = {}
            for row in self._reader.symbols_in(path):
                if row.kind != "variable":
                    grouped.setdefault(_owner(row), set()).add(row.name)
        return self._methods[path].get(owner, set())

    def _types_having(self, name: str) -> set[tuple[str, str]]:
        """The types that have a method of a name."""
        if name not in self._having:
            self._having[name] = {_type_of(row) for row in self._namesakes(name) if row.kind != "variable"}
        return self._having[name]

    # --- classes

    def _classes_of(self, member: Symbol) -> list[Symbol]:
        """The class that a member belongs to; one beside its file where it is not in it."""
        owner = _owner(member)
        rows = self._namesakes(owner.rpartition(".")[2])
        here = [row for row in rows if row.path == member.path and row.label == owner]
        if here or not member.path.endswith(_APART):
            return here
        return [row for row in rows if row.kind in _TYPES and self._is_apart(member, row)]

    def _subclasses(self, classes: Sequence[Symbol]) -> Sequence[Symbol]:
        """The classes below some, as far as the project defines them."""
        start = {row.node_id for row in classes}
        seen, frontier = set(start), start
        while frontier:
            frontier = self._reader.subclasses(frontier) - seen
            seen |= frontier
        return tuple(self._reader.symbols(seen - start).values())

    def _members(self, owner: Symbol, name: str) -> list[Symbol]:
        """The members of a name that a class has: in its file or, as Go, Rust and C++ write it, apart from it."""
        if owner.kind in _CALLABLE:  # of an unnamed class, which its methods stand for
            return [owner] if owner.name == name else []
        owned = self._owned(name)
        rows = [*owned.get((owner.path, owner.label), ())]
        for place in (owner.path, owner.path.rpartition("/")[0]) if owner.path.endswith(_APART) else ():
            rows += [row for row in owned.get((place, owner.name), ()) if row.path != owner.path]
        return list({row.node_id: row for row in rows}.values())

    def _is_apart(self, member: Symbol, row: Symbol) -> bool:
        """Whether a class of the name of a member's owner may be its owner though it is in another file."""
        self._read_includes([member.path])
        places = {place for place, _ in self._places_apart(member.path, "")}
        return row.path.endswith(_APART) and not places.isdisjoint({row.path, row.path.rpartition("/")[0]})

    def _inherited(self, member: Symbol) -> Iterator[Symbol]:
        """The same member of the classes above, as far as the project defines them."""
        classes = [*self._classes_of(member), member]  # the method of an unnamed class derives itself
        seen = {row.node_id for row in classes}
        while classes:
            current = classes.pop()
            rows = self._reader.outgoing(current.path, [current.node_id])
            above = self._reader.symbols({row.target_id for row in rows if row.kind == "inherit"} - seen)
            seen |= above.keys()
            classes.extend(above.values())
            for base in above.values():
                yield from self._members(base, member.name)

    # --- protocols of Python, interfaces of Go

    def _fulfilled(self, member: Symbol) -> Iterator[Symbol]:
        """The same member of protocols and interfaces that the class fulfils by what it defines."""
        if not _structural_suffix(member.path) or any(map(_is_structural, self._classes_of(member))):
            return
        rows = self._namesakes(member.name)
        structural = self._structural(rows)
        yield from (row for row in rows if row.node_id in structural and self._is_fulfilled(row, member))

    def _fulfilling(self, wanted: Symbol) -> list[Symbol]:
        """The members of classes that have all methods of a member's protocol or interface, which need not be named."""
        rows = [row for row in self._namesakes(wanted.name) if self._is_fulfilled(wanted, row)]
        structural = self._structural(rows)
        return [row for row in rows if row.node_id not in structural]

    def _is_fulfilled(self, wanted: Symbol, member: Symbol) -> bool:
        """Whether the type of a member has all methods of the type of another."""
        own, other = _type_of(member), _type_of(wanted)
        if own == other or not own[1] or not other[1]:
            return False
        if _structural_suffix(member.path) != _structural_suffix(wanted.path):
            return False
        return all(own in self._types_having(name) for name in self._methods_of(wanted.path, other[1]))

    def _structural(self, rows: Sequence[Symbol]) -> set[int]:
        """Those that protocols and interfaces declare."""
        owners = self._reader.symbols_at({_owner_place(row) for row in rows})
        places = {(owner.path, owner.key) for owner in owners if _is_structural(owner)}
        return {row.node_id for row in rows if _owner_place(row) in places}


def _owner(member: Symbol) -> str:
    return bare_key(member.key).rpartition(".")[0]


def _owner_place(member: Symbol) -> tuple[str, str]:
    return member.path, member.key.rpartition(".")[0]


def _is_shared(member: Symbol) -> bool:
    """Whether another class can have a member in place of this one."""
    if member.name in _UNSHARED or member.kind in _TYPES:
        return False
    before = member.signature.partition("(")[0].split()
    return not (member.path.endswith(_MODIFIED) and _OWN_ALONE.intersection(before))


def _stands_in(lower: Symbol, upper: Symbol) -> bool:
    """Whether a member can stand in for one of its name: both are functions with as many parameters, or neither is."""
    if (lower.kind in _CALLABLE) != (upper.kind in _CALLABLE) or not _is_shared(upper):
        return False
    takes, given = parameter_count(lower), parameter_count(upper)
    return takes is None or given is None or takes == given


def _type_of(member: Symbol) -> tuple[str, str]:
    """Where the type of a member is, and its name; the methods of a Go type stand anywhere in its folder."""
    place = member.path.rpartition("/")[0] if member.path.endswith(".go") else member.path
    return place, _owner(member)


def _structural_suffix(path: str) -> str:
    suffix = path.rpartition(".")[2].removesuffix("i")
    return suffix if suffix in ("py", "go") else ""


def _is_header(path: str) -> bool:
    return path.endswith(_HEADERS)


def _is_structural(row: Symbol) -> bool:
    """Whether classes can fulfil it without naming it: protocols of Python, interfaces of Go."""
    if row.path.endswith(".go"):
        return row.kind == "interface"
    return row.path.endswith((".py", ".pyi")) and ("Protocol" in row.signature)
