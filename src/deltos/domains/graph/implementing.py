"""Which members of bases, protocols and interfaces a member stands in for: a call to one of those may run it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.symbols import bare_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.store.graph import Graph
    from deltos.store.symbols import Symbol

_MOST_CLASSES = 200  # of one hierarchy, and of interfaces that declare a name
_UNSHARED = frozenset({"__init__", "__new__", "__post_init__", "constructor", "__init_subclass__"})


def implemented_by(reader: Graph, member: Symbol) -> list[Symbol]:
    """The members of the same name that a class inherits or, where classes need not say so, fulfils."""
    owner = bare_key(member.key).rpartition(".")[0]
    if not owner or member.name in _UNSHARED:
        return []
    found = {row.node_id: row for row in (*_inherited(reader, member, owner), *_fulfilled(reader, member, owner))}
    found.pop(member.node_id, None)
    return list(found.values())


def _inherited(reader: Graph, member: Symbol, owner: str) -> Iterator[Symbol]:
    """The same member of the classes above, as far as the project defines them."""
    classes = [row for row in reader.symbols_in(member.path) if bare_key(row.key) == owner]
    seen = {row.node_id for row in classes}
    while classes and len(seen) < _MOST_CLASSES:
        current = classes.pop()
        ids = {row.target_id for row in reader.outgoing(current.path, [current.node_id]) if row.kind == "inherit"}
        above = reader.symbols(ids - seen)
        seen |= above.keys()
        classes.extend(above.values())
        for base in above.values():
            yield from _members(reader, base, member.name)


def _fulfilled(reader: Graph, member: Symbol, owner: str) -> Iterator[Symbol]:
    """The same member of protocols and interfaces that the class fulfils by what it defines."""
    suffix = member.path.rpartition(".")[2].removesuffix("i")
    if suffix not in ("py", "go"):
        return
    own: set[str] | None = None
    for row in reader.symbols_named(member.name)[:_MOST_CLASSES]:
        container = bare_key(row.key).rpartition(".")[0]
        is_other = container and (row.path, container) != (member.path, owner)
        if not is_other or row.path.rpartition(".")[2].removesuffix("i") != suffix:
            continue
        if not any(map(_is_structural, _named(reader, row.path, container))):
            continue
        if own is None:
            own = _names_below(reader.symbols_in(member.path), owner)
        if _names_below(reader.symbols_in(row.path), container) <= own:
            yield row


def _named(reader: Graph, path: str, key: str) -> list[Symbol]:
    """The definitions of a qualified name in one file."""
    rows = reader.symbols_named(key.rpartition(".")[2])
    return [row for row in rows if row.path == path and bare_key(row.key) == key]


def _members(reader: Graph, owner: Symbol, name: str) -> list[Symbol]:
    key = f"{owner.label}.{name}"
    return [row for row in reader.symbols_in(owner.path) if row.label == key]


def _names_below(symbols: list[Symbol], owner: str) -> set[str]:
    """The names of a class's own functions."""
    return {row.name for row in symbols if row.kind != "variable" and bare_key(row.key).rpartition(".")[0] == owner}


def _is_structural(row: Symbol) -> bool:
    """Whether classes can fulfil it without naming it: protocols of Python, interfaces of Go."""
    if row.path.endswith(".go"):
        return row.kind == "interface"
    return row.path.endswith((".py", ".pyi")) and ("Protocol" in row.signature)
