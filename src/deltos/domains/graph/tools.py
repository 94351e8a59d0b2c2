"""The graph toolset: find_symbol, find_references, get_impact, detect_circular, get_context, get_stats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.answers import GraphAnswers
from deltos.domains.graph.cross_project import CrossProjectIndex
from deltos.domains.graph.importers import ImporterFinder
from deltos.domains.graph.model import Surroundings
from deltos.domains.graph.selection import GraphSelection
from deltos.domains.graph.symbol_query import KINDS
from deltos.errors import BadArgument
from deltos.tool import Answer, Call, Parameter, Tool
from deltos.workspace.file_purpose import TESTS
from deltos.workspace.project_selection import answer_on_fresh, select

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.workspace.project_selection import FreshSelection
    from deltos.workspace.projects import Projects

_PROJECT = Parameter("project_path", "string", "Several: comma-separated, a workspace or *", default="")
_PATH = Parameter("path", "string", "Only in this file, folder or glob", default="")
_TESTS = Parameter("tests", "string", "Uses in tests", default=TESTS[0], choices=TESTS, booleans=("exclude", "include"))
_SYMBOL = Parameter("symbol", "string", "Name or regex")


def graph_tools(
    projects: Projects,
    *,
    token_budget: int,
    surroundings: Surroundings | None = None,
    review: Callable[[Call], Answer] | None = None,
) -> tuple[Tool, ...]:
    """Return the tools of the graph toolset.

    `surroundings` adds information from other domains. `review` answers calls of `get_impact` with changes instead of a
    symbol.
    """
    serve = _GraphTools(projects, token_budget, surroundings or Surroundings()).serve
    return (
        _tool(
            "find_symbol",
            "Definitions",
            "Find definitions by name.",
            (
                _SYMBOL,
                _PATH,
                Parameter("kind", "array", "Only these kinds", default=[], choices=KINDS, takes_text=True),
                _limit_parameter(20),
            ),
            serve(_find_symbol),
        ),
        _tool(
            "find_references",
            "References",
            "List every use of a symbol with its source line, possible uses separately. "
            "For a rare name, grep is as good.",
            (
                Parameter("symbol", "string", "Name, Class.method, file:line, regex"),
                _PATH,
                _TESTS,
                _limit_parameter(30),
            ),
            serve(_find_references),
            always_loaded=True,
        ),
        _tool(
            "get_impact",
            "Impact",
            "List what a change affects, transitively; with changes also tests to run and broken callers.",
            (
                Parameter("symbol", "string", "Name or regex", default=""),
                Parameter("changes", "string", "Or: working, revision, A..B", default=""),
                _limit_parameter(50),
            ),
            _impact_handler(serve, review),
        ),
        _tool(
            "detect_circular",
            "Cycles",
            "List circular imports.",
            (),
            serve(lambda answers, _call: answers.detect_circular()),
        ),
        _tool(
            "get_context",
            "Context",
            "Show a symbol with callers, callees, bases, members, commits, docs, memories; map a file or folder. "
            "For its lines, read the file.",
            (Parameter("symbol", "string", "Name, Class.method, file:line, file, folder; none: all", default=""),),
            serve(lambda answers, call: answers.get_context(call.text("symbol"))),
        ),
        _tool(
            "get_stats",
            "Statistics",
            "Count files, symbols, imports.",
            (),
            serve(lambda answers, _call: answers.get_stats()),
        ),
    )


def _tool(
    name: str,
    title: str,
    description: str,
    parameters: tuple[Parameter, ...],
    run: Callable[[Call], Answer],
    *,
    always_loaded: bool = False,
) -> Tool:
    return Tool(name, "graph", title, description, (*parameters, _PROJECT), run, always_loaded=always_loaded)


def _limit_parameter(default: int) -> Parameter:
    return Parameter("limit", "integer", "1-500", default=default, minimum=1, maximum=500)


class _GraphTools:
    """Handlers of the tools, which run on the updated graphs of the selected projects."""

    def __init__(self, projects: Projects, token_budget: int, surroundings: Surroundings) -> None:
        self._projects = projects
        self._token_budget = token_budget
        self._surroundings = surroundings
        self._cross_project = CrossProjectIndex()

    def serve(self, work: Callable[[GraphAnswers, Call], Answer]) -> Callable[[Call], Answer]:
        """Return a tool handler that runs `work` on the selected projects."""

        def run(call: Call) -> Answer:
            roots = call.session.project_roots()
            selection = select(self._projects, call.text("project_path"), roots, folders_first=True)
            asked = [each.index.project.root for each in selection.repositories]
            importer_finder = ImporterFinder(self._projects, self._cross_project, asked, roots)

            seen: dict[str, bool] = {}  # results are stored because the answer may be computed twice

            def is_new_note(note: str) -> bool:
                if note not in seen:
                    seen[note] = call.session.excerpts.is_new_note(note)
                return seen[note]

            def compute_answer(fresh: FreshSelection) -> tuple[GraphSelection, Answer]:
                graphs = GraphSelection(fresh, self._cross_project, importer_finder, is_new_note=is_new_note)
                answers = GraphAnswers(graphs, self._surroundings, token_budget=self._token_budget)
                return graphs, work(answers, call)

            def answer_on_current_files(fresh: FreshSelection) -> Answer:
                graphs, answer = compute_answer(fresh)
                changed = [opened.number for opened in graphs.projects if opened.search.source.changed]
                if not any(fresh.ready[number].freshness.complete for number in changed):
                    return answer
                # If a shown file has changed since the update of the index, its line numbers may be wrong, so the index
                # is updated again.
                return compute_answer(fresh.refresh(changed, call.progress))[1]

            return answer_on_fresh(selection, call.progress, answer_on_current_files)

        return run


def _impact_handler(
    serve: Callable[[Callable[[GraphAnswers, Call], Answer]], Callable[[Call], Answer]],
    review: Callable[[Call], Answer] | None,
) -> Callable[[Call], Answer]:
    """Return the handler of `get_impact`, which shows the impact of a symbol or the review of changes."""
    impact_of_symbol = serve(lambda answers, call: answers.get_impact(call.text("symbol"), limit=call.number("limit")))

    def run(call: Call) -> Answer:
        has_symbol, has_changes = bool(call.text("symbol").strip()), bool(call.text("changes").strip())
        if has_symbol == has_changes:
            raise BadArgument(
                "Give either `symbol` or `changes`", hint="`changes` is a revision, a range or 'working'."
            )
        if has_symbol:
            return impact_of_symbol(call)
        if review is None:
            raise BadArgument("Changes cannot be reviewed here", hint="Give a symbol.")
        return review(call)

    return run


def _find_symbol(answers: GraphAnswers, call: Call) -> Answer:
    return answers.find_symbol(
        call.text("symbol"), path=call.text("path"), kinds=frozenset(call.texts("kind")), limit=call.number("limit")
    )


def _find_references(answers: GraphAnswers, call: Call) -> Answer:
    return answers.find_references(
        call.text("symbol"), path=call.text("path"), tests=call.text("tests"), limit=call.number("limit")
    )
