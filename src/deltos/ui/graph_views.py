"""Web page data about the code graph: the module map, the neighbours of a symbol, and the impact of a change."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from deltos.domains.graph.cycles import find_cycles
from deltos.errors import BadArgument
from deltos.store.symbols import bare_key
from deltos.text.counts import counted
from deltos.ui import structs
from deltos.ui.graph_drawing import lay_out
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deltos.domains.graph.search import GraphSearch, Impact, Target
    from deltos.domains.graph.uses import Use
    from deltos.store.graph import Graph
    from deltos.store.symbols import Symbol
    from deltos.ui.view_request import ViewRequest

    _Edges = dict[tuple[str, str, str], structs.GraphEdge]  # edges of a graph, by source, target and kind

MAX_FILES = 20_000
MAX_SYMBOLS = 20_000
MAX_REFERENCES_READ = 400_000
MAX_NEIGHBOURS = 300  # maximum number of drawn symbols around a symbol
MAX_IMPACT = 2_000  # maximum number of drawn symbols that a change affects
MAX_CYCLES = 50
MAX_NAMES = 20  # maximum number of listed definitions of a name


def map_modules(request: ViewRequest) -> structs.ModulesPage:
    """Return all files with their size and number of importers, and the circular imports."""
    index = request.index()

    def read(notes: tuple[str, ...]) -> structs.ModulesPage:
        graph = index.store.graph
        with graph.snapshot():
            imports = graph.imports()
            files = index.store.files()
        used = Counter(target for _, target in {(row.path, row.target) for row in imports})
        boxes = [
            structs.ModuleBox(path, file.stamp.size, used[path], is_test(path)) for path, file in sorted(files.items())
        ]
        cycles = [
            structs.Cycle(each.mode, list(each.files), list(each.cycle)) for each in find_cycles(imports)[:MAX_CYCLES]
        ]
        return structs.ModulesPage(boxes[:MAX_FILES], len(boxes), cycles, list(notes))

    return index.answer(lambda freshness: read(freshness.notes_about("graph")))


def draw_symbol(request: ViewRequest) -> structs.GraphPage:
    """Return a drawn graph: the neighbours of a symbol, the impact of changing it, or the imports between files."""
    index = request.index()
    symbol, mode = request.text("symbol"), request.text("mode") or "around"
    if mode not in _GRAPHS_BY_MODE:
        raise BadArgument(f"There is no graph '{mode[:40]}'", hint=f"Known: {', '.join(_GRAPHS_BY_MODE)}.")
    search = request.app.graph_search(index)

    def read(notes: tuple[str, ...]) -> structs.GraphPage:
        page = _GRAPHS_BY_MODE[mode](search, symbol)
        return msgspec.structs.replace(page, notes=[*notes, *page.notes])

    return index.answer(lambda freshness: read(freshness.notes_about("graph")))


def neighbourhood(search: GraphSearch, symbol: str) -> structs.GraphPage:
    """Return the graph of a symbol, its users, and the symbols that it uses."""
    targets = _find_targets(search, symbol)
    target = targets[0]
    references = search.references(target)
    uses = [*references.certain, *references.aliased, *references.indirect, *references.possible]
    context = search.context(target)
    known = search.reader.symbols({row.source_id for row in uses})
    middle = _node_id(target.first)
    nodes = {middle: _symbol_node(target.first, 0)}
    edges: _Edges = {}
    for row in uses:
        source = known.get(row.source_id)
        node = _symbol_node(source, 1) if source else _file_node(row.path, row.line, 1)
        _add_node_and_edge(nodes, edges, node, structs.GraphEdge(node.id, middle, row.kind, row.certain))
    for kind, neighbours in (("call", context.callees), ("inherit", context.bases)):
        for other in neighbours:
            node = _symbol_node(other, 2)
            _add_node_and_edge(nodes, edges, node, structs.GraphEdge(middle, node.id, kind, certain=True))
    page = _build_page(target, nodes.values(), edges.values(), targets, MAX_NEIGHBOURS)
    return lay_out(page, by_sides=True)


def impact(search: GraphSearch, symbol: str) -> structs.GraphPage:
    """Return the graph of the symbols and tests affected by a change, by distance.

    Possible references are counted but not followed.
    """
    targets = _find_targets(search, symbol)
    target = targets[0]
    found = search.impact(target)
    middle = _node_id(target.first)
    rows = [row for level in (*found.levels, found.tests) for row in level]
    nodes = {middle: _symbol_node(target.first, 0)} | {
        _node_id(row): _symbol_node(row, found.distances[row.node_id]) for row in rows
    }
    edges = _impact_edges(search, found, rows)
    drawn = {(row.path, bare_key(row.key)): _node_id(row) for row in rows}
    for use in found.possible:
        if source := drawn.get((use.path, use.label)):
            _add_edges(edges, source, middle, [use], certain=False)
    unfollowed = sum((use.path, use.label) not in drawn for use in found.possible)
    page = _build_page(target, nodes.values(), edges.values(), targets, MAX_IMPACT)
    return msgspec.structs.replace(lay_out(page, by_sides=False), notes=_note_unfollowed(unfollowed))


def _impact_edges(search: GraphSearch, found: Impact, rows: list[Symbol]) -> _Edges:
    """Return the references between the affected symbols and to the changed symbol."""
    middle = _node_id(found.target.first)
    by_number = {row.node_id: _node_id(row) for row in rows} | dict.fromkeys(found.target.node_ids, middle)
    edges: _Edges = {}
    for row in search.reader.references(by_number):
        source, used = by_number.get(row.source_id), by_number.get(row.target_id)
        if source and used:
            _add_edge(edges, structs.GraphEdge(source, used, row.kind, row.certain))
    for number, uses in found.lines.items():  # `uses` includes uses of members and of implemented interfaces
        if source := by_number.get(number):
            _add_edges(edges, source, middle, uses, certain=True)
    return edges


def _add_edges(edges: _Edges, source: str, target: str, uses: Iterable[Use], *, certain: bool) -> None:
    for kind in sorted({kind for use in uses for kind in use.kinds}):
        _add_edge(edges, structs.GraphEdge(source, target, kind, certain))


def _note_unfollowed(lines: int) -> list[str]:
    if not lines:
        return []
    return [f"{counted(lines, 'possible reference')} not followed; see the neighbourhood."]


def _find_targets(search: GraphSearch, symbol: str) -> list[Target]:
    """Return the definitions that match a name, or the module if `symbol` is the path of a file."""
    return [search.module(symbol)] if symbol in search.reader.paths() else search.targets(symbol)


def file_imports(search: GraphSearch, _symbol: str) -> structs.GraphPage:
    """Return the graph of all files and the imports between them."""
    imports = search.reader.imports()
    pairs = sorted({(row.path, row.target, row.mode) for row in imports if row.path != row.target})
    used = Counter(target for _, target, _ in pairs)
    paths = sorted(search.reader.paths(), key=lambda path: (-used[path], path))
    nodes = [_file_node(path, 1, 0) for path in paths[:MAX_FILES]]
    drawn = {node.id for node in nodes}
    edges = [structs.GraphEdge(source, target, mode, certain=True) for source, target, mode in pairs]
    kept = [edge for edge in edges if edge.source in drawn and edge.target in drawn]
    return structs.GraphPage("", nodes, kept, len(paths) - len(nodes), [])


def map_symbols(request: ViewRequest) -> structs.SymbolMap:
    """Return the most used symbols of a project and the references between them."""
    index = request.index()
    return index.answer(lambda freshness: _build_symbol_map(index.store.graph, freshness.notes_about("graph")))


def _build_symbol_map(graph: Graph, notes: tuple[str, ...]) -> structs.SymbolMap:
    with graph.snapshot():
        symbols = graph.most_referenced_symbols(limit=MAX_SYMBOLS)
        number_of = {symbol.node_id: number for number, symbol in enumerate(symbols)}
        read = graph.links(limit=MAX_REFERENCES_READ)
        links = [
            (number_of[source], number_of[target], kind, certain)
            for (source, target), (kind, certain) in read.pairs.items()
            if source in number_of and target in number_of
        ]
        left_out = graph.symbol_count() - len(symbols)
    paths = {path: number for number, path in enumerate(sorted({symbol.path for symbol in symbols}))}
    kinds = {symbol.kind for symbol in symbols} | {kind for _, _, kind, _ in links}
    names = {name: number for number, name in enumerate(sorted(kinds))}
    return structs.SymbolMap(
        paths=list(paths),
        is_test=[is_test(path) for path in paths],
        names=list(names),
        keys=[symbol.key for symbol in symbols],
        labels=[symbol.label for symbol in symbols],
        kinds=[names[symbol.kind] for symbol in symbols],
        files=[paths[symbol.path] for symbol in symbols],
        lines=[symbol.line for symbol in symbols],
        sources=[source for source, _, _, _ in links],
        targets=[target for _, target, _, _ in links],
        link_kinds=[names[kind] for _, _, kind, _ in links],
        certain=[certain for _, _, _, certain in links],
        is_partial=read.is_partial,
        left_out=left_out,
        notes=list(notes),
    )


_GRAPHS_BY_MODE: dict[str, Callable[[GraphSearch, str], structs.GraphPage]] = {
    "around": neighbourhood,
    "impact": impact,
    "files": file_imports,
}


def _add_node_and_edge(
    nodes: dict[str, structs.GraphNode],
    edges: _Edges,
    node: structs.GraphNode,
    edge: structs.GraphEdge,
) -> None:
    nodes.setdefault(node.id, node)
    _add_edge(edges, edge)


def _add_edge(edges: _Edges, edge: structs.GraphEdge) -> None:
    """Add an edge unless it is a self-reference. A certain edge replaces a possible edge."""
    key = (edge.source, edge.target, edge.kind)
    if edge.source != edge.target and (key not in edges or edge.certain):
        edges[key] = edge


def _build_page(
    target: Target,
    nodes: Iterable[structs.GraphNode],
    edges: Iterable[structs.GraphEdge],
    targets: list[Target],
    max_nodes: int,
) -> structs.GraphPage:
    """Return a graph with the `max_nodes` symbols closest to the target and the edges between them."""
    ordered = sorted(nodes, key=lambda node: (node.ring, node.is_test, node.path, node.line))
    kept = ordered[:max_nodes]
    drawn = {node.id for node in kept}
    return structs.GraphPage(
        symbol=_node_id(target.first),
        nodes=kept,
        edges=[edge for edge in edges if edge.source in drawn and edge.target in drawn],
        left_out=len(ordered) - len(kept),
        others=[f"{each.first.path}:{each.first.line}" for each in targets[1:MAX_NAMES]],
    )


def _node_id(row: Symbol) -> str:
    return f"{row.path}#{row.key}" if row.key else row.path


def _symbol_node(row: Symbol, ring: int) -> structs.GraphNode:
    label = row.label or row.path.rpartition("/")[2]
    return structs.GraphNode(_node_id(row), label, row.kind, row.path, row.line, ring, is_test(row.path))


def _file_node(path: str, line: int, ring: int) -> structs.GraphNode:
    return structs.GraphNode(path, path.rpartition("/")[2], "file", path, line, ring, is_test(path))
