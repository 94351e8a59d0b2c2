"""Search for the symbols that depend on changed symbols, by distance in the code graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.federation.review.model import MODULE, REMOVED, Dependant
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.graph.search import GraphSearch
    from deltos.federation.review.model import SymbolChange

MAX_DISTANCE = 8  # maximum distance of symbols whose dependants are searched
MAX_NODES = 20_000
POSSIBLE_COST = 1.5  # distance added for a use whose receiver type is unknown
MODULE_COST = 2.0  # distance added for a file that imports a file with changed code outside definitions
MAX_MENTIONS = 200  # names with more possible uses are ignored


@dataclass(slots=True)
class DependantDistances:
    """Distance of each dependent symbol to the changed symbols (`start`), by node id."""

    distances: dict[int, float] = field(default_factory=dict)
    start: frozenset[int] = frozenset()


def reach(search: GraphSearch, changes: Sequence[SymbolChange]) -> DependantDistances:
    """Return the distance of each graph node that depends on the changed symbols.

    Possible uses have a higher distance than definite ones. Dependants of top-level code are not searched.
    """
    with search.reader.snapshot():
        start, names = _changed_nodes(search, changes)
        distances = dict.fromkeys(start, 0.0)
        pending = {0.0: set(start)}
        _add_possible_uses(search, names, distances, pending)
        _add_importers(search, changes, distances, pending)
        while pending and len(distances) < MAX_NODES:
            distance = min(pending)
            frontier = {node for node in pending.pop(distance) if distances[node] == distance}
            if distance < MAX_DISTANCE:
                _expand_frontier(search, frontier, distance, distances, pending)
        return DependantDistances(distances, frozenset(start))


def _changed_nodes(search: GraphSearch, changes: Sequence[SymbolChange]) -> tuple[set[int], set[str]]:
    """Return the graph nodes of changed symbols, and the names of changed members and removed symbols."""
    ids: set[int] = set()
    names: set[str] = set()
    for change in changes:
        if change.kind == MODULE:
            continue
        if "." in change.label or change.kind == REMOVED:
            names.add(change.name)
        found = [row.node_id for row in search.reader.symbols_in(change.path) if row.label == change.label]
        ids.update(found)
    return ids, names


def _add_possible_uses(
    search: GraphSearch, names: Iterable[str], distances: dict[int, float], pending: dict[float, set[int]]
) -> None:
    """Add the definitions that may use a changed member through a value whose type is unknown."""
    for name in names:
        rows = search.reader.mentions(name)
        if len(rows) <= MAX_MENTIONS:
            for row in rows:
                _add(row.source_id, 1 + POSSIBLE_COST, distances, pending)


def _add_importers(
    search: GraphSearch, changes: Sequence[SymbolChange], distances: dict[int, float], pending: dict[float, set[int]]
) -> None:
    """Add the importers of files in which code outside all definitions changed."""
    for change in changes:
        node = search.reader.module_node(change.path) if change.kind == MODULE else None
        for row in search.reader.references([node]) if node is not None else ():
            _add(row.source_id, 1 + MODULE_COST, distances, pending)


def _expand_frontier(
    search: GraphSearch,
    frontier: set[int],
    distance: float,
    distances: dict[int, float],
    pending: dict[float, set[int]],
) -> None:
    """Add the definitions that refer to the nodes in `frontier` or to definitions that these nodes override."""
    named = set(search.reader.symbols(frontier))
    above = search.reader.overridden_ids(named) if named else set()
    rows = search.reader.references(named | above) if named else []
    for row in rows:
        if row.source_id not in named and (row.kind != "inherit" or row.target_id in named):
            cost = 0.0 if row.certain else POSSIBLE_COST
            _add(row.source_id, distance + 1 + cost, distances, pending)


def _add(node: int, distance: float, distances: dict[int, float], pending: dict[float, set[int]]) -> None:
    if node and distance < distances.get(node, float("inf")):
        distances[node] = distance
        pending.setdefault(distance, set()).add(node)


def affected_symbols(search: GraphSearch, reached: DependantDistances) -> list[Dependant]:
    """Return the dependent symbols and files, smallest distance first, without the changed symbols."""
    others = [node for node in reached.distances if node not in reached.start]
    known = search.reader.symbols(others)
    rows = [Dependant(row.path, row.line, row.label, round(reached.distances[node])) for node, row in known.items()]
    named = {row.path for row in rows}
    nodes = search.reader.nodes(set(others) - known.keys())
    rows += [
        Dependant(path, 1, "", round(reached.distances[node]))
        for node, (path, key) in nodes.items()
        if not key and path not in named
    ]
    return sorted(rows, key=lambda row: (is_test(row.path), row.distance, row.path, row.line))
