"""JSON output of `deltos graph --json`, for one project and for several, where each object names its project."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from deltos.domains.graph.budgeted_lines import BudgetedLines
from deltos.domains.graph.map import render_map
from deltos.domains.graph.model import ALIAS
from deltos.domains.graph.search import Scope
from deltos.domains.graph.symbol_query import kinds_of
from deltos.domains.graph.uses import UNDER_ANOTHER_NAME
from deltos.store.symbols import bare_key
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Iterator

    from deltos.domains.graph.cycles import Component
    from deltos.domains.graph.importers import Importers
    from deltos.domains.graph.multi_project import MultiProjectGraph, OpenedProject, ProjectImpact, ProjectUses
    from deltos.domains.graph.search import Context, FoundReferences, GraphSearch, Impact
    from deltos.domains.graph.source_lines import SourceLines
    from deltos.errors import NotFound
    from deltos.store.graph import GraphCounts
    from deltos.store.symbols import Symbol
    from deltos.tool import JsonObject

_MAP_TOKENS = 5_000

# --- one project


def scope_json(search: GraphSearch, scope: Scope, text: str) -> JsonObject:
    """Return a file with its definitions, or a folder with its files; `map` is the text output."""
    if scope.is_file:
        rows = search.reader.symbols_in(scope.path)
        return {"file": scope.path, "symbols": [symbol_json(row) for row in rows], "map": text}
    inside = f"{scope.path}/" if scope.path else ""
    files = [path for path in search.reader.paths() if path.startswith(inside)]
    return {"folder": scope.path or ".", "files": files, "map": text}


def symbol_json(row: Symbol, generated: Collection[str] = ()) -> JsonObject:
    """Return a definition and its location."""
    text: JsonObject = {"symbol": row.label, "file": row.path, "line": row.line, "kind": row.kind}
    return {**text, "generated": True} if row.path in generated else text


def references_json(references: FoundReferences, source: SourceLines) -> JsonObject:
    """Return the references to a symbol.

    `certain` is true for references by name or alias, false for references through another definition and for possible
    ones. `via` is how the reference reaches the symbol.
    """
    rows = [(row, True, references.link_kind(row)) for row in (*references.certain, *references.aliased)]
    rows += [(row, False, references.link_kind(row)) for row in references.through]
    rows += [(row, False, "text") for row in references.possible]
    texts = source.lines((row.path, row.line) for row, _, _ in rows)
    first, generated = references.target.first, source.generated
    return {
        "symbol": bare_key(references.target.path_name),
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
    """Return the error for a FILE:LINE at which nothing is defined."""
    file, _, line = place.rpartition(":")
    return {"symbol": None, "file": file, "line": int(line), "references": [], "error": str(problem)}


def impact_json(impact: Impact) -> JsonObject:
    """Return the symbols and tests that a change affects, by distance."""
    levels = [[symbol_json(row) for row in level] for level in impact.levels]
    return {**symbol_json(impact.target.first), "levels": levels, "tests": [symbol_json(row) for row in impact.tests]}


def component_json(component: Component) -> JsonObject:
    """Return files that import each other."""
    return {"mode": component.mode, "files": component.files, "cycle": component.cycle}


def context_json(context: Context) -> JsonObject:
    """Return a definition with its callers, callees, bases, subclasses and members."""
    return {
        **symbol_json(context.target.first),
        "callers": [{"file": use.path, "line": use.line} for group in context.callers for use in group.uses],
        "callees": [symbol_json(row) for row in context.callees],
        "bases": [symbol_json(row) for row in context.bases],
        "subclasses": [symbol_json(row) for row in context.subclasses],
        "members": [symbol_json(row) for row in context.members],
    }


def stats_json(counts: GraphCounts) -> JsonObject:
    """Return the sizes of the graph and the numbers of resolved references."""
    return asdict(counts)


def not_asked_json(importers: Importers) -> JsonObject:
    """Return the projects that import the definition's project but were not searched, if there are any."""
    return {"not_asked": importers.names} if importers.names else {}


# --- several projects


def definitions_of_several(graphs: MultiProjectGraph, arguments: argparse.Namespace) -> Iterator[JsonObject]:
    """Yield each definition with its project."""
    rows = graphs.definitions(arguments.symbol, path=arguments.path, kinds=kinds_of(arguments.kind))
    for opened, row in rows[: arguments.limit]:
        yield {"project": opened.name, **symbol_json(row, opened.search.source.generated)}


def references_of_several(graphs: MultiProjectGraph, arguments: argparse.Namespace) -> Iterator[JsonObject]:
    """Yield the references to each definition in its project, and those in importing projects as `elsewhere`."""
    for project_target in graphs.targets(arguments.symbol):
        opened = graphs.project(project_target.project)
        found = references_json(opened.search.references(project_target.target), opened.search.source)
        elsewhere = list(map(_uses_json, graphs.uses_in_importers(project_target)))
        yield {
            "project": opened.name,
            **found,
            "elsewhere": elsewhere,
            **not_asked_json(graphs.importers_of(project_target)),
        }


def impacts_of_several(graphs: MultiProjectGraph, arguments: argparse.Namespace) -> Iterator[JsonObject]:
    """Yield the impact of each definition in its project, and in importing projects as `elsewhere`."""
    for project_target in graphs.targets(arguments.symbol):
        opened = graphs.project(project_target.project)
        impact = opened.search.impact(project_target.target)
        elsewhere = list(map(_affected_json, graphs.impact_in_importers(project_target, impact)))
        text: JsonObject = {"project": opened.name, **impact_json(impact), "elsewhere": elsewhere}
        yield {**text, **not_asked_json(graphs.importers_of(project_target))}


def cycles_of_several(graphs: MultiProjectGraph, _arguments: argparse.Namespace) -> Iterator[JsonObject]:
    """Yield the import cycles of each project."""
    for opened, components in graphs.cycles():
        for component in components:
            yield {"project": opened.name, **component_json(component)}


def contexts_of_several(graphs: MultiProjectGraph, arguments: argparse.Namespace) -> Iterator[JsonObject]:
    """Yield each definition with its context and its references elsewhere; without a symbol, a map of each project."""
    if arguments.symbol.strip() in ("", ".", "/"):
        for opened, text in graphs.ask_each(_map_json):
            yield {"project": opened.name, **text}
        return
    for project_target in graphs.targets(arguments.symbol):
        opened = graphs.project(project_target.project)
        text = context_json(opened.search.context(project_target.target))
        yield {
            "project": opened.name,
            **text,
            "elsewhere": list(map(_uses_json, graphs.uses_in_importers(project_target))),
        }


def stats_of_several(graphs: MultiProjectGraph, _arguments: argparse.Namespace) -> Iterator[JsonObject]:
    """Yield the statistics of each project."""
    for opened, counts in graphs.ask_each(lambda each: each.search.reader.counts()):
        yield {"project": opened.name, **stats_json(counts)}


BY_TOOL: dict[str, Callable[[MultiProjectGraph, argparse.Namespace], Iterator[JsonObject]]] = {
    "find_symbol": definitions_of_several,
    "find_references": references_of_several,
    "get_impact": impacts_of_several,
    "detect_circular": cycles_of_several,
    "get_context": contexts_of_several,
    "get_stats": stats_of_several,
}
"""JSON output for several projects by the name of the MCP tool."""


def unanswered_json(graphs: MultiProjectGraph) -> Iterator[JsonObject]:
    """Yield the projects that could not be searched, with the reason."""
    for name, reason in graphs.left:
        yield {"project": name, "error": reason}


def _map_json(opened: OpenedProject) -> JsonObject:
    search = opened.search
    text = render_map(search, "", page=BudgetedLines(token_budget=_MAP_TOKENS)).text
    return scope_json(search, Scope("", is_file=False), text)


def _uses_json(found: ProjectUses) -> JsonObject:
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


def _affected_json(found: ProjectImpact) -> JsonObject:
    levels: dict[int, list[JsonObject]] = {}
    tests = []
    for row in found.rows:
        text = {**symbol_json(row.symbol), "distance": row.distance}
        if is_test(row.symbol.path):
            tests.append(text)
        else:
            levels.setdefault(row.distance, []).append(text)
    levels_json = [levels[distance] for distance in sorted(levels)]
    return {"project": found.project.name, "levels": levels_json, "tests": tests, "not_resolved": found.not_resolved}
