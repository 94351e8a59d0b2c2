"""The graph toolset: find_symbol, find_references, get_impact, detect_circular, get_context, get_stats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.budgeted_lines import BudgetedLines, with_notes
from deltos.domains.graph.cross_project import CrossProjectIndex, ProjectHandle
from deltos.domains.graph.cycles import find_cycles
from deltos.domains.graph.importers import ImporterFinder
from deltos.domains.graph.map import render_file_map, render_map
from deltos.domains.graph.model import NoSurroundings
from deltos.domains.graph.multi_project import MultiProjectGraph
from deltos.domains.graph.render import (
    render_candidates,
    render_context,
    render_cycles,
    render_each,
    render_impact,
    render_outside,
    render_references,
    render_stats,
    render_symbols,
)  # fmt: skip
from deltos.domains.graph.search import GraphSearch
from deltos.domains.graph.symbol_query import KINDS, is_pattern, kinds_of, path_filter
from deltos.errors import NotFound
from deltos.store.symbols import bare_key
from deltos.tool import Answer, Call, Parameter, Tool
from deltos.workspace.project_selection import freshen_all, select

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.graph.model import Surroundings
    from deltos.domains.graph.search import Target
    from deltos.workspace.project_index import Freshness, ProjectIndex
    from deltos.workspace.project_selection import Selection
    from deltos.workspace.projects import Projects

_PROJECT = Parameter("project_path", "string", "Several: comma-separated, a workspace or *", default="", listed=False)
_PATH = Parameter("path", "string", "Only in this file, folder or glob", default="", listed=False)
_SYMBOL = Parameter("symbol", "string", "Name or regex")


def graph_tools(projects: Projects, *, token_budget: int, surroundings: Surroundings | None = None) -> tuple[Tool, ...]:
    """Return the tools of the graph toolset; `surroundings` adds information of other domains."""
    tools = _GraphTools(projects, token_budget, surroundings or NoSurroundings())
    return (
        _tool(
            "find_symbol",
            "Definitions",
            "Find definitions by name.",
            (
                _SYMBOL,
                _PATH,
                Parameter("kind", "string", ", ".join(KINDS), default="", listed=False),
                _limit(20, listed=False),
            ),
            tools.served(tools.find_symbol, _find_symbols),
        ),
        _tool(
            "find_references",
            "References",
            "List every use of a symbol with its source line, possible uses separately. "
            "For a rare name, grep is as good.",
            (
                Parameter("symbol", "string", "Name, Class.method, file:line, regex"),
                _PATH,
                Parameter("tests", "boolean", "Uses in tests too", default=True, listed=False),
                _limit(30, listed=False),
            ),
            tools.served(tools.find_references, _find_references),
        ),
        _tool(
            "get_impact",
            "Impact",
            "List what a change affects, transitively.",
            (_SYMBOL, _limit(50, listed=False)),
            tools.served(
                tools.get_impact,
                lambda graphs, call: graphs.get_impact(call.text("symbol"), limit=call.number("limit")),
            ),
        ),
        _tool(
            "detect_circular",
            "Cycles",
            "List circular imports.",
            (),
            tools.served(tools.detect_circular, lambda graphs, _: graphs.detect_circular()),
        ),
        _tool(
            "get_context",
            "Context",
            "Show a symbol with callers, callees, bases, members, commits, docs, memories; map a file or folder. "
            "For its lines, read the file.",
            (Parameter("symbol", "string", "Name, Class.method, file:line, file, folder; none: all", default=""),),
            tools.served(tools.get_context, lambda graphs, call: graphs.get_context(call.text("symbol"))),
        ),
        _tool(
            "get_stats",
            "Statistics",
            "Count files, symbols, imports.",
            (),
            tools.served(tools.get_stats, lambda graphs, _: graphs.get_stats()),
        ),
    )


def _tool(
    name: str, title: str, description: str, parameters: tuple[Parameter, ...], run: Callable[[Call], Answer]
) -> Tool:
    return Tool(name, "graph", title, description, (*parameters, _PROJECT), run)


def _limit(default: int, *, listed: bool = True) -> Parameter:
    return Parameter("limit", "integer", "1-500", default=default, minimum=1, maximum=500, listed=listed)


@dataclass(frozen=True, slots=True)
class _OpenGraph:
    """A project's up-to-date graph during one call."""

    search: GraphSearch
    page: BudgetedLines
    is_complete: bool
    member: ProjectHandle
    importer_finder: ImporterFinder

    @property
    def freshness(self) -> str:
        """Whether the index is complete, in words."""
        return "index complete and up to date" if self.is_complete else "index not complete yet"


class _GraphTools:
    """Implementations of the graph tools."""

    def __init__(self, projects: Projects, token_budget: int, surroundings: Surroundings) -> None:
        self._projects = projects
        self._token_budget = token_budget
        self._surroundings = surroundings
        self._cross_project = CrossProjectIndex()

    def served(
        self, work: Callable[[_OpenGraph, Call], Answer], several: Callable[[MultiProjectGraph, Call], Answer]
    ) -> Callable[[Call], Answer]:
        """Return a handler that runs `work` on the up-to-date graph of one project, or `several` on those of several
        projects."""

        def run(call: Call) -> Answer:
            roots = call.session.project_roots()
            selection = select(self._projects, call.text("project_path"), roots, folders_first=True)
            index = selection.alone
            if index is None:
                return several(self._opened_all(selection, call), call)

            importer_finder = self._importer_finder(selection, call)

            def answered(freshness: Freshness) -> Answer:
                graph = self._opened(index, freshness, importer_finder)
                try:
                    answer = work(graph, call)
                except NotFound as problem:
                    raise with_notes(problem, freshness.notes_about("graph")) from None
                if not graph.search.source.changed or not freshness.complete:
                    return answer
                # A file changed after the index was checked, so its line numbers may be wrong: index again.
                fresh = index.freshen(progress=call.progress, at_once=True)
                return work(self._opened(index, fresh, importer_finder), call)

            return index.answer(answered, progress=call.progress)

        return run

    def _importer_finder(self, selection: Selection, call: Call) -> ImporterFinder:
        """Return a finder of projects that import the selected ones."""
        asked = [each.index.project.root for each in selection.repositories]
        return ImporterFinder(self._projects, self._cross_project, asked, call.session.project_roots())

    def _opened_all(self, selection: Selection, call: Call) -> MultiProjectGraph:
        """Return the up-to-date graphs of several projects."""
        fresh = freshen_all(selection, call.progress)
        return MultiProjectGraph.of(
            fresh,
            self._cross_project,
            self._surroundings,
            token_budget=self._token_budget,
            importer_finder=self._importer_finder(selection, call),
        )

    def find_symbol(self, graph: _OpenGraph, call: Call) -> Answer:
        """List definitions by name or pattern."""
        kinds = kinds_of(call.text("kind"))
        rows = graph.search.find(call.text("symbol"), path=call.text("path"), kinds=kinds)
        page = graph.page.with_note(graph.search.name_note(call.text("symbol")))
        return render_symbols(rows, call.text("symbol"), limit=call.number("limit"), page=page)

    def find_references(self, graph: _OpenGraph, call: Call) -> Answer:
        """List the uses of one symbol, or the candidates for an ambiguous name."""
        in_path = path_filter(graph.search.root, call.text("path"))

        def answer(target: Target, page: BudgetedLines) -> Answer:
            found = graph.search.references(target)
            return render_references(
                found.filtered(in_path, with_tests=call.flag("tests")),
                graph.search.source,
                limit=call.number("limit"),
                page=page,
                is_complete=graph.is_complete,
                unsearched_importers=graph.importer_finder.importing(graph.member, [target.first.path]).names_text,
            )

        return self._answer(graph, call, answer, with_importers=True)

    def get_impact(self, graph: _OpenGraph, call: Call) -> Answer:
        """List transitive dependants."""

        def answer(target: Target, page: BudgetedLines) -> Answer:
            together = self._surroundings.changed_with(target.first.path, graph.search.root)
            impact = graph.search.impact(target)
            return render_impact(impact, graph.search.source, together, limit=call.number("limit"), page=page)

        return self._answer(graph, call, answer, with_importers=True)

    def detect_circular(self, graph: _OpenGraph, _call: Call) -> Answer:
        """List import cycles."""
        reader = graph.search.reader
        with reader.snapshot():
            imports, paths = reader.imports(), reader.paths()
        return render_cycles(find_cycles(imports), paths, page=graph.page)

    def get_context(self, graph: _OpenGraph, call: Call) -> Answer:
        """Show one symbol with its neighbours, or the map of a file or folder."""
        scope = graph.search.scope(call.text("symbol"))
        if scope is not None and not scope.is_file:
            return render_map(graph.search, scope.path, page=graph.page)
        if scope is not None:
            return self._file_map(graph, scope.path, graph.page)
        return self._answer(graph, call, lambda target, page: self._context(graph, target, page))

    def _context(self, graph: _OpenGraph, target: Target, page: BudgetedLines) -> Answer:
        first, root = target.first, graph.search.root
        if first.kind == "module" and not first.key:
            return self._file_map(graph, first.path, page)
        extras = [*self._surroundings.past(first, root), *self._surroundings.mentions(first.name, root)]
        return render_context(graph.search.context(target), graph.search.source, extras, page=page)

    def _file_map(self, graph: _OpenGraph, path: str, page: BudgetedLines) -> Answer:
        extras = self._surroundings.mentions(path.rpartition("/")[2], graph.search.root)
        return render_file_map(graph.search, path, extras, page=page)

    def get_stats(self, graph: _OpenGraph, _call: Call) -> Answer:
        """Show the sizes of the graph."""
        reader = graph.search.reader
        with reader.snapshot():
            counts = reader.counts()
        return render_stats(counts, graph.freshness, page=graph.page)

    def _answer(
        self,
        graph: _OpenGraph,
        call: Call,
        answer: Callable[[Target, BudgetedLines], Answer],
        *,
        with_importers: bool = False,
    ) -> Answer:
        """Answer for the only target, or for each one that a pattern matches; else list candidates or show an installed
        package.

        With `with_importers`, a note names the projects that import the target and were not searched.
        """
        symbol = call.text("symbol")
        try:
            targets = graph.search.targets(symbol)
        except NotFound:
            if sections := self._surroundings.outside(symbol, graph.search.root):
                return render_outside(symbol, sections, page=graph.page, is_complete=graph.is_complete)
            raise
        page = graph.page.with_note(graph.search.name_note(symbol))
        if with_importers:
            paths = {target.first.path for target in targets}
            page = page.with_note(graph.importer_finder.importing(graph.member, paths).note("this project"))
        if len(targets) == 1:
            return answer(targets[0], page)
        counts = graph.search.reader.reference_counts(node_id for target in targets for node_id in target.node_ids)
        if is_pattern(symbol) or len({bare_key(target.path_name) for target in targets}) == 1:
            return render_each(targets, counts, symbol, answer, page=page)
        return render_candidates(targets, counts, symbol, page=page)

    def _opened(self, index: ProjectIndex, freshness: Freshness, importer_finder: ImporterFinder) -> _OpenGraph:
        """Return the graph of one project with its notes and token budget."""
        notes = freshness.notes_about("graph")
        page = BudgetedLines(token_budget=self._token_budget, notes=notes, generated=index.store.generated())
        search = GraphSearch(index.store, index.project.root)
        member = ProjectHandle.of(index.project.root.name, index.store, index.workers)
        return _OpenGraph(search, page, freshness.complete and not freshness.notes, member, importer_finder)


def _find_symbols(graphs: MultiProjectGraph, call: Call) -> Answer:
    return graphs.find_symbol(
        call.text("symbol"), path=call.text("path"), kinds=kinds_of(call.text("kind")), limit=call.number("limit")
    )


def _find_references(graphs: MultiProjectGraph, call: Call) -> Answer:
    return graphs.find_references(
        call.text("symbol"), path=call.text("path"), with_tests=call.flag("tests"), limit=call.number("limit")
    )
