"""What `deltos graph --json` prints: about one project, and about several, where each object names its project."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from deltos.domains.graph.map import render_map
from deltos.domains.graph.model import ALIAS
from deltos.domains.graph.page import BudgetedLines
from deltos.domains.graph.query import kinds_of
from deltos.domains.graph.search import Scope
from deltos.domains.graph.uses import UNDER_ANOTHER_NAME
from deltos.store.symbols import bare_key
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Iterator

    from deltos.domains.graph.cycles import Component
    from deltos.domains.graph.search import Context, FoundReferences, GraphSearch, Impact
    from deltos.domains.graph.several import AffectedElsewhere, OpenedProject, SeveralGraphs, UsesElsewhere
    from deltos.domains.graph.source import Source
    from deltos.domains.graph.unasked import Importers
    from deltos.errors import NotFound
    from deltos.store.graph import GraphCounts
    from deltos.store.symbols import Symbol
    from deltos.tool import JsonObject

_MAP_TOKENS = 5_000

# --- one project


def scope_json(search: GraphSearch, scope: Scope, told: str) -> JsonObject:
    """A file with its definitions, or a folder with its files; `map` is what people read."""
    if scope.is_file:
        rows = search.reader.symbols_in(scope.path)
        return {"file": scope.path, "symbols": [symbol_json(row) for row in rows], "map": told}
    inside = f"{scope.path}/" if scope.path else ""
    files = [path for path in search.reader.paths() if path.startswith(inside)]
    return {"folder": scope.path or ".", "files": files, "map": told}


def symbol_json(row: Symbol, generated: Collection[str] = ()) -> JsonObject:
    """A definition and its place."""
    told: JsonObject = {"symbol": row.label, "file": row.path, "line": row.line, "kind": row.kind}
    return {**told, "generated": True} if row.path in generated else told


def references_json(references: FoundReferences, source: Source) -> JsonObject:
    """`certain` are places that name the symbol, by its name or an alias; uses through another definition that need not
    run it, and possible ones, are not. `via` tells how each reaches the symbol."""
    rows = [(row, True, references.way(row)) for row in (*references.certain, *references.aliased)]
    rows += [(row, False, references.way(row)) for row in references.through]
    rows += [(row, False, "text") for row in references.possible]
    texts = source.lines((row.path, row.line) for row, _, _ in rows)
    first, generated = references.target.first, source.generated
    return {
        "symbol": bare_key(references.target.name),
        "file": first.path,
        "line": first.line,
        "references": [
            {
                "file": row.path,
                "line": row.line,
                "kind": row.kind,
                "certain": certain,
                "via": way,
                "text": texts.get((row.path, row.line), "").strip(),
                **({"generated": True} if row.path in generated else {}),
            }
            for row, certain, way in rows
        ],
    }


def undefined_json(place: str, problem: NotFound) -> JsonObject:
    """A FILE:LINE at which nothing is defined."""
    file, _, line = place.rpartition(":")
    return {"symbol": None, "file": file, "line": int(line), "references": [], "error": str(problem)}


def impact_json(impact: Impact) -> JsonObject:
    """What a change affects, by distance, and the tests."""
    levels = [[symbol_json(row) for row in level] for level in impact.levels]
    return {**symbol_json(impact.target.first), "levels": levels, "tests": [symbol_json(row) for row in impact.tests]}


def component_json(component: Component) -> JsonObject:
    """Files that import each other."""
    return {"mode": component.mode, "files": component.files, "cycle": component.cycle}


def context_json(context: Context) -> JsonObject:
    """A definition and its neighbourhood."""
    return {
        **symbol_json(context.target.first),
        "callers": [{"file": use.path, "line": use.line} for group in context.callers for use in group.uses],
        "callees": [symbol_json(row) for row in context.callees],
        "bases": [symbol_json(row) for row in context.bases],
        "subclasses": [symbol_json(row) for row in context.subclasses],
        "members": [symbol_json(row) for row in context.members],
    }


def stats_json(counts: GraphCounts) -> JsonObject:
    """Sizes and shares."""
    return asdict(counts)


def not_asked_json(importers: Importers) -> JsonObject:
    """The projects that import a definition's project and were not asked, if there are any."""
    return {"not_asked": importers.names} if importers.names else {}


# --- several projects


def definitions_of_several(graphs: SeveralGraphs, arguments: argparse.Namespace) -> Iterator[JsonObject]:
    """Each definition with its project."""
    rows = graphs.definitions(arguments.symbol, path=arguments.path, kinds=kinds_of(arguments.kind))
    for opened, row in rows[: arguments.limit]:
        yield {"project": opened.name, **symbol_json(row, opened.search.source.generated)}


def references_of_several(graphs: SeveralGraphs, arguments: argparse.Namespace) -> Iterator[JsonObject]:
    """The uses of each definition in its own project, and `elsewhere` those in the projects that import it."""
    for meant in graphs.meant(arguments.symbol):
        opened = graphs.project(meant.project)
        found = references_json(opened.search.references(meant.target), opened.search.source)
        elsewhere = list(map(_uses_json, graphs.uses_elsewhere(meant)))
        yield {"project": opened.name, **found, "elsewhere": elsewhere, **not_asked_json(graphs.importers_of(meant))}


def impacts_of_several(graphs: SeveralGraphs, arguments: argparse.Namespace) -> Iterator[JsonObject]:
    """What a change of each definition affects, and `elsewhere` in the projects that import it."""
    for meant in graphs.meant(arguments.symbol):
        opened = graphs.project(meant.project)
        impact = opened.search.impact(meant.target)
        elsewhere = list(map(_affected_json, graphs.affected_elsewhere(meant, impact)))
        told: JsonObject = {"project": opened.name, **impact_json(impact), "elsewhere": elsewhere}
        yield {**told, **not_asked_json(graphs.importers_of(meant))}


def cycles_of_several(graphs: SeveralGraphs, _arguments: argparse.Namespace) -> Iterator[JsonObject]:
    """The import cycles of each project."""
    for opened, components in graphs.cycles():
        for component in components:
            yield {"project": opened.name, **component_json(component)}


def contexts_of_several(graphs: SeveralGraphs, arguments: argparse.Namespace) -> Iterator[JsonObject]:
    """Each definition with its neighbourhood and its uses elsewhere; without a symbol, a map of each project."""
    if arguments.symbol.strip() in ("", ".", "/"):
        for opened, told in graphs.of_each(_map_json):
            yield {"project": opened.name, **told}
        return
    for meant in graphs.meant(arguments.symbol):
        opened = graphs.project(meant.project)
        told = context_json(opened.search.context(meant.target))
        yield {"project": opened.name, **told, "elsewhere": list(map(_uses_json, graphs.uses_elsewhere(meant)))}


def stats_of_several(graphs: SeveralGraphs, _arguments: argparse.Namespace) -> Iterator[JsonObject]:
    """Sizes and shares of each project."""
    for opened, counts in graphs.of_each(lambda each: each.search.reader.counts()):
        yield {"project": opened.name, **stats_json(counts)}


OF_SEVERAL: dict[str, Callable[[SeveralGraphs, argparse.Namespace], Iterator[JsonObject]]] = {
    "find_symbol": definitions_of_several,
    "find_references": references_of_several,
    "get_impact": impacts_of_several,
    "detect_circular": cycles_of_several,
    "get_context": contexts_of_several,
    "get_stats": stats_of_several,
}
"""What is told of several projects in place of a tool's text."""


def left_json(graphs: SeveralGraphs) -> Iterator[JsonObject]:
    """The projects that did not answer."""
    for name, reason in graphs.left:
        yield {"project": name, "error": reason}


def _map_json(opened: OpenedProject) -> JsonObject:
    search = opened.search
    told = render_map(search, "", page=BudgetedLines(token_budget=_MAP_TOKENS)).text
    return scope_json(search, Scope("", is_file=False), told)


def _uses_json(found: UsesElsewhere) -> JsonObject:
    source = found.project.search.source
    texts = source.lines(use.place for group in found.groups for use in group.uses)
    rows: list[JsonObject] = []
    for group in found.groups:
        way = "text" if group.reason else ALIAS if group.title == UNDER_ANOTHER_NAME else "direct"
        for use in group.uses:
            row: JsonObject = {"file": use.path, "line": use.line, "certain": not group.reason, "via": way}
            row["text"] = texts.get(use.place, "").strip()
            if group.reason:
                row["reason"] = group.reason
            if use.path in source.generated:
                row["generated"] = True
            rows += [{**row, "kind": kind} for kind in use.kinds]
    return {"project": found.project.name, "references": rows, "not_resolved": found.not_resolved}


def _affected_json(found: AffectedElsewhere) -> JsonObject:
    levels: dict[int, list[JsonObject]] = {}
    tests = []
    for row in found.rows:
        told = {**symbol_json(row.symbol), "distance": row.distance}
        if is_test(row.symbol.path):
            tests.append(told)
        else:
            levels.setdefault(row.distance, []).append(told)
    told_levels = [levels[distance] for distance in sorted(levels)]
    return {"project": found.project.name, "levels": told_levels, "tests": tests, "not_resolved": found.not_resolved}
