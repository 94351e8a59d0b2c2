"""Search for circular imports.

A component is a group of files that import each other directly or indirectly (a strongly connected component of the
import graph). Each component is returned with one shortest cycle.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.store.graph import ImportRow

Graph = dict[str, list[str]]
MODES = (("runtime", ("runtime",)), ("type", ("runtime", "type")), ("deferred", ("runtime", "type", "deferred")))
"""Cycle modes, strictest first, each with the import modes that such a cycle may contain."""


MAX_START_FILES = 300
"""Maximum number of files per component from which a cycle is searched. A search may visit the entire component."""


@dataclass(frozen=True, slots=True)
class Component:
    """A group of files that import each other directly or indirectly, with one shortest cycle.

    `cycle` does not repeat the first file at the end. `known` contains the files that are already in a group of a
    stricter import mode.
    """

    mode: str
    files: tuple[str, ...]
    cycle: tuple[str, ...]
    known: frozenset[str] = frozenset()


def find_cycles(imports: Iterable[ImportRow]) -> list[Component]:
    """Return the groups of files with circular imports for each import mode, strictest mode first.

    A group that was found in a stricter mode is not repeated. If it contains more files in this mode, it is returned
    again with a cycle that does not exist in the stricter mode.
    """
    rows = [row for row in imports if row.path != row.target and not _is_own_submodule(row.path, row.target)]
    found: list[Component] = []
    shown: set[tuple[str, ...]] = set()
    in_cycles: set[str] = set()
    stricter: Graph = {}
    for mode, import_modes in MODES:
        graph = _import_graph(row for row in rows if row.mode in import_modes)
        new = [files for files in components(graph) if files not in shown]
        for files in new:
            known = in_cycles & set(files)
            cycle = _new_cycle(graph, stricter, files) if known else shortest_cycle(graph, files)
            found.append(Component(mode, files, cycle, frozenset(known)))
        shown.update(new)
        in_cycles.update(path for files in new for path in files)
        stricter = graph
    return found


def _new_cycle(graph: Graph, stricter: Graph, files: Sequence[str]) -> tuple[str, ...]:
    """Return a short cycle that contains an import that does not count in the stricter mode."""
    inside = set(files)
    new = [
        (path, target)
        for path in files
        for target in graph[path]
        if target in inside and target not in stricter.get(path, ())
    ]
    best: tuple[str, ...] = ()
    for path, target in new[:MAX_START_FILES]:
        # The first file keeps only the new import, so that the cycle contains this import.
        narrowed = {**graph, path: [target]} if len(graph[path]) > 1 else graph
        cycle = _cycle_through(narrowed, path, inside, shorter_than=len(best) or len(files) + 1)
        best = cycle or best
        if len(best) == 2:
            break
    return best


def _is_own_submodule(path: str, target: str) -> bool:
    """Whether a Rust file imports one of its own submodules, which may in turn import their parent."""
    if not (path.endswith(".rs") and target.endswith(".rs")):
        return False
    folder, _, name = path.rpartition("/")
    stem = name.removesuffix(".rs")
    own = folder if stem in ("mod", "lib", "main") else f"{folder}/{stem}".lstrip("/")
    return target.startswith(f"{own}/") if own else True


def _import_graph(rows: Iterable[ImportRow]) -> Graph:
    """Return the sorted paths of the files that each file imports."""
    graph: Graph = {}
    for row in rows:
        targets = graph.setdefault(row.path, [])
        if row.target not in targets:
            targets.append(row.target)
        graph.setdefault(row.target, [])
    return {path: sorted(targets) for path, targets in sorted(graph.items())}


def components(graph: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the strongly connected components with several nodes, largest first, using Tarjan's algorithm."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[tuple[str, ...]] = []
    for root in graph:
        if root in order:
            continue
        work = [(root, iter(graph[root]))]
        while work:
            node, targets = work[-1]
            if node not in order:
                order[node] = low[node] = len(order)
                stack.append(node)
                on_stack.add(node)
            advanced = False
            for target in targets:
                if target not in order:
                    work.append((target, iter(graph[target])))
                    advanced = True
                    break
                if target in on_stack:
                    low[node] = min(low[node], order[target])
            if advanced:
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[node])
            if low[node] == order[node]:
                found.append(_pop_component(stack, on_stack, node))
    return sorted((files for files in found if len(files) > 1), key=lambda files: (-len(files), files))


def _pop_component(stack: list[str], on_stack: set[str], root: str) -> tuple[str, ...]:
    """Remove the nodes of a finished component from the stack and return them."""
    component: list[str] = []
    while True:
        node = stack.pop()
        on_stack.discard(node)
        component.append(node)
        if node == root:
            return tuple(sorted(component))


def shortest_cycle(graph: Mapping[str, Sequence[str]], files: Sequence[str]) -> tuple[str, ...]:
    """Return a shortest cycle within a component."""
    inside = set(files)
    best: tuple[str, ...] = ()
    for start in files[:MAX_START_FILES]:
        cycle = _cycle_through(graph, start, inside, shorter_than=len(best) or len(files) + 1)
        if cycle:
            best = cycle
        if len(best) == 2:
            break
    return best


def _cycle_through(
    graph: Mapping[str, Sequence[str]], start: str, inside: set[str], *, shorter_than: int
) -> tuple[str, ...]:
    """Return the shortest cycle through a file, or an empty tuple if no cycle is shorter than `shorter_than` files."""
    parent: dict[str, str] = {}
    queue = deque([(start, 1)])
    while queue:
        node, length = queue.popleft()
        if length >= shorter_than:
            return ()
        for target in graph[node]:
            if target == start:
                return _path_between(parent, start, node)
            if target in inside and target not in parent:
                parent[target] = node
                queue.append((target, length + 1))
    return ()


def _path_between(parent: Mapping[str, str], start: str, end: str) -> tuple[str, ...]:
    """Return the files on the path from `start` to `end` in a search tree that stores the parent of each file."""
    path = [end]
    while path[-1] != start:
        path.append(parent[path[-1]])
    return tuple(reversed(path))
