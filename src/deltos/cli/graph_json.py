"""JSON output of `deltos graph --json` for one or several projects."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from deltos.domains.graph.budgeted_lines import BudgetedLines
from deltos.domains.graph.map import render_file_map, render_map
from deltos.domains.graph.model import ALIAS
from deltos.domains.graph.symbol_query import parse_kinds
from deltos.domains.graph.uses import UNDER_ANOTHER_NAME
from deltos.store.symbols import bare_key
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterator

    from deltos.domains.graph.answers import GraphAnswers
    from deltos.domains.graph.cycles import Component
    from deltos.domains.graph.search import Context, FoundReferences, GraphSearch, Impact, Scope
    from deltos.domains.graph.selection import GraphSelection, OpenedProject, ProjectImpact, ProjectTarget, ProjectUses
    from deltos.domains.graph.source_lines import SourceLines
    from deltos.errors import NotFound
    from deltos.store.symbols import Symbol
    from deltos.tool import JsonObject

_MAP_TOKENS = 5_000

# --- JSON output of single answers


def scope_json(search: GraphSearch, scope: Scope, text: str) -> JsonObject:
    """Return a file with its definitions, or a folder with its files, as JSON. `map` contains the text output."""
    if scope.is_file:
        rows = search.reader.symbols_in(scope.path)
        return {"file": scope.path, "symbols": [symbol_json(row) for row in rows], "map": text}
    inside = f"{scope.path}/" if scope.path else ""
    files = [path for path in search.reader.paths() if path.startswith(inside)]
    return {"folder": scope.path or ".", "files": files, "map": text}


def symbol_json(row: Symbol, generated: Collection[str] = ()) -> JsonObject:
    """Return a definition and its location as JSON."""
    text: JsonObject = {"symbol": row.label, "file": row.path, "line": row.line, "kind": row.kind}
    return {**text, "generated": True} if row.path in generated else text


def _references_json(references: FoundReferences, source: SourceLines) -> JsonObject:
    """Return the references to a symbol as JSON.

    `certain` is true for references by name or alias, and false for possible and indirect references. `via` is the kind
    of link from the reference to the symbol.
    """
    rows = [(row, True, references.link_kind(row)) for row in (*references.certain, *references.aliased)]
    through = [row for row in references.indirect if row.target_id not in references.wrapper_ids]
    rows += [(row, False, references.link_kind(row)) for row in through]
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


def undefined_json(location: str, problem: NotFound) -> JsonObject:
    """Return the error for a location (FILE:LINE) without a definition as JSON."""
    file, _, line = location.rpartition(":")
    return {"symbol": None, "file": file, "line": int(line), "references": [], "error": str(problem)}


def _impact_json(impact: Impact) -> JsonObject:
    """Return the symbols and tests that a change affects as JSON, grouped by distance."""
    levels = [[symbol_json(row) for row in level] for level in impact.levels]
    return {**symbol_json(impact.target.first), "levels": levels, "tests": [symbol_json(row) for row in impact.tests]}


def _component_json(component: Component) -> JsonObject:
    """Return an import cycle and all files of its strongly connected component as JSON."""
    return {"mode": component.mode, "files": component.files, "cycle": component.cycle}


def _context_json(context: Context) -> JsonObject:
    """Return a definition with its callers, callees, bases, subclasses and members as JSON."""
    return {
        **symbol_json(context.target.first),
        "callers": [{"file": use.path, "line": use.line} for group in context.callers for use in group.uses],
        "callees": [symbol_json(row) for row in context.callees],
        "bases": [symbol_json(row) for row in context.bases],
        "subclasses": [symbol_json(row) for row in context.subclasses],
        "members": [symbol_json(row) for row in context.members],
    }


# --- JSON output of commands. Objects contain the project name if several projects are queried.


def definitions_json(answers: GraphAnswers, request: argparse.Namespace) -> Iterator[JsonObject]:
    """Yield the definitions that match the request."""
    rows = answers.graphs.definitions(request.symbol, path=request.path, kinds=parse_kinds(request.kind))
    for opened, row in rows[: request.limit]:
        yield {**_project_field(opened), **symbol_json(row, opened.search.source.generated)}


def references_json(answers: GraphAnswers, request: argparse.Namespace) -> Iterator[JsonObject]:
    """Yield the references to each definition. `elsewhere` contains the references in projects that import it."""
    for of in answers.graphs.targets(request.symbol, is_location=bool(request.at)).rows:
        search = of.project.search
        found = _references_json(search.references(of.target), search.source)
        yield {
            **_project_field(of.project),
            **found,
            **_elsewhere_field(answers.graphs, of),
            **_unsearched_field(answers.graphs, of),
        }


def impacts_json(answers: GraphAnswers, request: argparse.Namespace) -> Iterator[JsonObject]:
    """Yield the symbols and tests that a change of each definition affects.

    `elsewhere` contains affected code in projects that import the definition.
    """
    graphs = answers.graphs
    for of in graphs.targets(request.symbol).rows:
        impact = of.project.search.impact(of.target)
        affected = list(map(_affected_json, graphs.impact_in_importers(of, impact)))
        elsewhere = {"elsewhere": affected} if graphs.is_several else {}
        yield {**_project_field(of.project), **_impact_json(impact), **elsewhere, **_unsearched_field(graphs, of)}


def cycles_json(answers: GraphAnswers, _request: argparse.Namespace) -> Iterator[JsonObject]:
    """Yield the import cycles of each project."""
    for opened, components in answers.graphs.cycles():
        for component in components:
            yield {**_project_field(opened), **_component_json(component)}


def contexts_json(answers: GraphAnswers, request: argparse.Namespace) -> Iterator[JsonObject]:
    """Yield each definition with its context and references in other projects, or the map of a file or folder."""
    graphs = answers.graphs
    if scopes := graphs.scopes(request.symbol):
        text = "" if graphs.is_several else answers.get_context(request.symbol).text
        for opened, scope in scopes:
            page = BudgetedLines(token_budget=_MAP_TOKENS)
            shown = (
                text
                or (
                    render_file_map(opened.search, scope.path, (), page=page)
                    if scope.is_file
                    else render_map(opened.search, scope.path, page=page)
                ).text
            )
            yield {**_project_field(opened), **scope_json(opened.search, scope, shown)}
        return
    for of in graphs.targets(request.symbol).rows:
        context = _context_json(of.project.search.context(of.target))
        yield {**_project_field(of.project), **context, **_elsewhere_field(graphs, of)}


def statistics_json(answers: GraphAnswers, _request: argparse.Namespace) -> Iterator[JsonObject]:
    """Yield the size of each project's graph and the number of resolved references."""
    for opened, counts in answers.graphs.for_each(lambda each: each.search.reader.counts()):
        yield {**_project_field(opened), **asdict(counts)}


def _project_field(opened: OpenedProject) -> JsonObject:
    return {"project": opened.name} if opened.name else {}


def _elsewhere_field(graphs: GraphSelection, definition: ProjectTarget) -> JsonObject:
    return {"elsewhere": list(map(_uses_json, graphs.uses_in_importers(definition)))} if graphs.is_several else {}


def _unsearched_field(graphs: GraphSelection, definition: ProjectTarget) -> JsonObject:
    """Return a field with the importing projects that were not searched, or an empty object."""
    names = graphs.unsearched_importers(definition.project, [definition.target]).names
    return {"not_asked": names} if names else {}


def unanswered_json(graphs: GraphSelection) -> Iterator[JsonObject]:
    """Yield the projects that could not be searched, with the reasons."""
    for name, reason in graphs.unavailable:
        yield {"project": name, "error": reason}


def _uses_json(found: ProjectUses) -> JsonObject:
    source = found.project.search.source
    texts = source.lines(use.location for group in found.groups for use in group.uses)
    rows: list[JsonObject] = []
    for group in found.groups:
        way = "text" if group.reason else ALIAS if group.title == UNDER_ANOTHER_NAME else "direct"
        for use in group.uses:
            row: JsonObject = {"file": use.path, "line": use.line, "certain": not group.reason, "via": way}
            row["text"] = texts.get(use.location, "").strip()
            if group.reason:
                row["reason"] = group.reason
            if use.path in source.generated:
                row["generated"] = True
            rows += [{**row, "kind": kind} for kind in use.kinds]
    return {"project": found.project.name, "references": rows, "not_resolved": found.unresolved_count}


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
    return {
        "project": found.project.name,
        "levels": levels_json,
        "tests": tests,
        "not_resolved": found.unresolved_count,
    }
