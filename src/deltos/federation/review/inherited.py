"""Detect removed members that a class still inherits, so that removing them breaks no users."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.federation.review.model import REMOVED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.graph.search import GraphSearch
    from deltos.federation.review.model import SymbolChange
    from deltos.store.symbols import Symbol

MAX_BASES = 50  # maximum number of classes searched for a member
_BASE_LIST_MARKERS = ("(", " extends ", " implements ", ":", "<")


def without_inherited_breaks(search: GraphSearch, changes: Sequence[SymbolChange]) -> list[SymbolChange]:
    """Clear the `breaks` (reasons why users fail) of removed members that their class may still inherit."""
    return [replace(each, breaks=()) if _may_be_inherited(search, each) else each for each in changes]


def _may_be_inherited(search: GraphSearch, change: SymbolChange) -> bool:
    """Whether a class may inherit a removed member from a base class in the project or from an external one."""
    owner = change.label.rpartition(".")[0]
    if change.kind != REMOVED or not change.breaks or not owner:
        return False
    pending = [row for row in search.reader.symbols_in(change.path) if row.label == owner]
    seen: set[int] = set()
    while pending and len(seen) < MAX_BASES:
        row = pending.pop()
        seen.add(row.node_id)
        bases = _bases_of(search, row)
        if not bases and _has_bases(row):  # the base class is outside the project
            return True
        if any(_has_member(search, base, change.name) for base in bases):
            return True
        pending += [base for base in bases if base.node_id not in seen]
    return False


def _bases_of(search: GraphSearch, row: Symbol) -> list[Symbol]:
    edges = search.reader.outgoing_references(row.path, [row.node_id])
    return list(search.reader.symbols(edge.target_id for edge in edges if edge.kind == "inherit").values())


def _has_member(search: GraphSearch, owner: Symbol, name: str) -> bool:
    return any(row.label == f"{owner.label}.{name}" for row in search.reader.symbols_in(owner.path))


def _has_bases(row: Symbol) -> bool:
    """Whether the header of a class lists base classes."""
    after_name = row.signature.partition(row.name)[2]
    return (
        any(mark in after_name for mark in _BASE_LIST_MARKERS)
        and "()" not in after_name
        and "(object)" not in after_name
    )
