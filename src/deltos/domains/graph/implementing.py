"""Which members stand in for each other: those of bases, protocols and interfaces that a member implements or
overrides, and those that implement or override it. A call to one of the former may run one of the latter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.arity import parameter_count
from deltos.store.symbols import bare_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.store.graph import Graph
    from deltos.store.symbols import Symbol

_MOST_CLASSES = 200  # of one hierarchy, and of interfaces that declare a name
_MOST_NAMESAKES = 2_000  # members of a name that are looked at for those that override one
_UNSHARED = frozenset({"__init__", "__new__", "__post_init__", "constructor", "__init_subclass__", "__construct"})
_CALLABLE = frozenset({"function", "method", "component"})
_TYPES = frozenset({"class", "interface", "enum", "type"})
# Words before a name that keep it from being overridden, where languages write them.
_OWN_ALONE = frozenset({"private", "static"})
_MODIFIED = (".java", ".kt", ".cs", ".php")
# Files in which a method may stand apart from its type.
_APART = (".go", ".rs", ".h", ".hh", ".hpp", ".hxx", ".cc", ".cpp", ".cxx")


def implemented_by(reader: Graph, member: Symbol) -> list[Symbol]:
    """The members of the same name that a class inherits or, where classes need not say so, fulfils."""
    owner = _owner(member)
    if not owner or not _is_shared(member):
        return []
    rows = (*_inherited(reader, member, owner), *_fulfilled(reader, member))
    found = {row.node_id: row for row in rows if _stands_in(member, row)}
    found.pop(member.node_id, None)
    return list(found.values())


def implementations_of(reader: Graph, member: Symbol) -> list[Symbol]:
    """The members of the same name in classes that inherit from a member's own, or fulfil its protocol or interface."""
    owner = _owner(member)
    if not owner or not _is_shared(member):
        return []
    namesakes = [row for row in reader.symbols_named(member.name)[:_MOST_NAMESAKES] if _stands_in(row, member)]
    if len(namesakes) < 2:
        return []
    classes = _named(reader, member.path, owner)
    below = _subclasses(reader, classes)
    found = {row.node_id: row for row in namesakes if _is_in(row, below)}
    if any(map(_is_structural, classes)):
        methods = _Methods(reader)
        found |= {row.node_id: row for row in namesakes if methods.fulfil(row, member)}
    found.pop(member.node_id, None)
    return [row for row in found.values() if (row.path, _owner(row)) != (member.path, owner)]


def _owner(member: Symbol) -> str:
    return bare_key(member.key).rpartition(".")[0]


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


def _subclasses(reader: Graph, classes: list[Symbol]) -> dict[str, list[Symbol]]:
    """The classes below some, as far as the project defines them, by their names."""
    seen = {row.node_id for row in classes}
    frontier = set(seen)
    below: dict[str, list[Symbol]] = {}
    while frontier and len(seen) < _MOST_CLASSES:
        sources = {row.source_id for row in reader.references(frontier) if row.kind == "inherit" and row.certain}
        frontier = sources - seen
        seen |= frontier
        for row in reader.symbols(frontier).values():
            below.setdefault(row.name, []).append(row)
    return below


def _is_in(member: Symbol, classes: dict[str, list[Symbol]]) -> bool:
    """Whether a member is of one of the classes: in its file or, as Go, Rust and C++ write it, beside it."""
    owner = _owner(member)
    return any(
        row.label == owner if row.path == member.path else _is_beside(row.path, member.path)
        for row in classes.get(owner.rpartition(".")[2], ())
    )


def _is_beside(path: str, other: str) -> bool:
    """Whether a file of the same folder may hold methods of a type."""
    return path.endswith(_APART) and path.rpartition("/")[0] == other.rpartition("/")[0]


def _inherited(reader: Graph, member: Symbol, owner: str) -> Iterator[Symbol]:
    """The same member of the classes above, as far as the project defines them."""
    classes = _classes_of(reader, member, owner)
    seen = {row.node_id for row in classes}
    while classes and len(seen) < _MOST_CLASSES:
        current = classes.pop()
        ids = {row.target_id for row in reader.outgoing(current.path, [current.node_id]) if row.kind == "inherit"}
        above = reader.symbols(ids - seen)
        seen |= above.keys()
        classes.extend(above.values())
        for base in above.values():
            yield from _members(reader, base, member.name)


def _classes_of(reader: Graph, member: Symbol, owner: str) -> list[Symbol]:
    """The class that a member belongs to; one of the same folder where it is not in the member's file."""
    here = _named(reader, member.path, owner)
    if here or not member.path.endswith(_APART):
        return here
    rows = reader.symbols_named(owner.rpartition(".")[2])[:_MOST_CLASSES]
    return [row for row in rows if row.kind in _TYPES and _is_in(member, {row.name: [row]})]


def _fulfilled(reader: Graph, member: Symbol) -> Iterator[Symbol]:
    """The same member of protocols and interfaces that the class fulfils by what it defines."""
    if not _structural_suffix(member.path):
        return
    methods = _Methods(reader)
    for row in reader.symbols_named(member.name)[:_MOST_CLASSES]:
        if any(map(_is_structural, _named(reader, row.path, _owner(row)))) and methods.fulfil(member, row):
            yield row


class _Methods:
    """Which types have a method of a name; asks for each name once."""

    def __init__(self, reader: Graph) -> None:
        self._reader = reader
        self._having: dict[str, set[tuple[str, str]]] = {}

    def fulfil(self, member: Symbol, wanted: Symbol) -> bool:
        """Whether the type of a member has all methods of the protocol or interface of another, and is none itself."""
        own, other = _type_of(member), _type_of(wanted)
        if own == other or not own[1] or not other[1]:
            return False
        if _structural_suffix(member.path) != _structural_suffix(wanted.path):
            return False
        if any(map(_is_structural, _named(self._reader, member.path, own[1]))):
            return False
        names = _names_below(self._reader.symbols_in(wanted.path), _owner(wanted))
        return all(own in self._types_having(name) for name in names)

    def _types_having(self, name: str) -> set[tuple[str, str]]:
        if name not in self._having:
            rows = self._reader.symbols_named(name)[:_MOST_NAMESAKES]
            self._having[name] = {_type_of(row) for row in rows if row.kind != "variable"}
        return self._having[name]


def _type_of(member: Symbol) -> tuple[str, str]:
    """Where the type of a member is, and its name; the methods of a Go type stand anywhere in its folder."""
    place = member.path.rpartition("/")[0] if member.path.endswith(".go") else member.path
    return place, _owner(member)


def _structural_suffix(path: str) -> str:
    suffix = path.rpartition(".")[2].removesuffix("i")
    return suffix if suffix in ("py", "go") else ""


def _named(reader: Graph, path: str, key: str) -> list[Symbol]:
    """The definitions of a qualified name in one file."""
    rows = reader.symbols_named(key.rpartition(".")[2])
    return [row for row in rows if row.path == path and bare_key(row.key) == key]


def _members(reader: Graph, owner: Symbol, name: str) -> list[Symbol]:
    key = f"{owner.label}.{name}"
    return [row for row in reader.symbols_named(name) if row.path == owner.path and row.label == key]


def _names_below(symbols: Iterable[Symbol], owner: str) -> set[str]:
    """The names of a class's own functions."""
    return {row.name for row in symbols if row.kind != "variable" and bare_key(row.key).rpartition(".")[0] == owner}


def _is_structural(row: Symbol) -> bool:
    """Whether classes can fulfil it without naming it: protocols of Python, interfaces of Go."""
    if row.path.endswith(".go"):
        return row.kind == "interface"
    return row.path.endswith((".py", ".pyi")) and ("Protocol" in row.signature)
