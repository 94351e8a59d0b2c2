"""`deltos graph`: queries the code graph."""

from __future__ import annotations

import argparse
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deltos.cli.command import add_group, add_limit, add_project, add_verb, open_app, print_json
from deltos.cli.command_names import replace_tool_names_in_answer
from deltos.cli.progress_bar import ProgressBar
from deltos.config import Config
from deltos.errors import BadArgument, NotFound
from deltos.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.app import App
    from deltos.cli.command import Run, Subparsers
    from deltos.domains.graph.budgeted_lines import BudgetedLines
    from deltos.domains.graph.importers import Importers
    from deltos.domains.graph.search import GraphSearch, Scope, Target
    from deltos.federation.links import DomainLinks
    from deltos.workspace.project_selection import FreshSelection

MAX_RESULTS = 500
_COMMON_PARAMETERS = ("symbol", "limit", "path", "kind")  # names that commands and tools share


def add_commands(subparsers: Subparsers) -> None:
    """Add `graph` and its verbs."""
    verbs = add_group(subparsers, "graph", "query the code graph: definitions, references, impact, cycles")
    find = add_verb(verbs, "find", _find, "find the definitions of a symbol")
    find.add_argument("symbol", help="name, dotted name or regular expression")
    find.add_argument("--path", default="", help="only definitions in this file, folder or glob")
    find.add_argument("--kind", default="", help="only symbols of these kinds: function, class, …; comma-separated")
    add_limit(find, maximum=MAX_RESULTS, default=20)
    refs = add_verb(verbs, "refs", _refs, "list all references to a symbol")
    refs.add_argument("symbol", nargs="?", default="", help="name or dotted name")
    refs.add_argument(
        "--at",
        default="",
        metavar="FILE:LINE",
        help="definition on this line; - reads one per line from standard input",
    )
    add_limit(refs, maximum=MAX_RESULTS, default=30)
    impact = add_verb(verbs, "impact", _impact, "list the symbols and tests that a change of a symbol affects")
    impact.add_argument("symbol", help="name or dotted name")
    add_limit(impact, maximum=MAX_RESULTS, default=50)
    cycles = add_verb(verbs, "cycles", _cycles, "list circular imports")
    context = add_verb(verbs, "context", _context, "show a symbol with its callers, callees and members")
    context.add_argument("symbol", nargs="?", default="", help="name, FILE:LINE, file or folder; default: the project")
    draw = add_verb(verbs, "draw", _draw, "draw the neighbourhood or the impact of a symbol as SVG")
    draw.add_argument("symbol", help="name, dotted name or FILE:LINE")
    draw.add_argument("-o", "--output", default="-", metavar="FILE", help="output file; default: standard output")
    draw.add_argument("--impact", action="store_true", help="draw the symbols that a change affects, by distance")
    stats = add_verb(verbs, "stats", _stats, "show the size of the graph and how many references are resolved")
    for verb in (find, refs, impact, cycles, context, stats):
        add_project(verb, takes_several=True)
    add_project(draw)


def _supports_several_projects(tool: str) -> Callable[[Run], Run]:
    """Decorate a command so that it calls the MCP tool `tool`, or its JSON form, if several projects are selected."""

    def wrapped(run: Run) -> Run:
        @wraps(run)
        def request(arguments: argparse.Namespace) -> int:
            code = _run_for_several(tool, arguments)
            return run(arguments) if code is None else code

        return request

    return wrapped


def _run_for_several(tool: str, arguments: argparse.Namespace) -> int | None:
    """Print the answer for several projects; return None if one is selected, which the command itself handles."""
    from deltos.workspace.project_selection import freshen_all, select  # deferred, as all domain imports here

    _require_symbol(arguments)
    if Path(arguments.project).is_dir():
        return None
    bar = ProgressBar()
    with _graph_app() as app:
        selection = select(app.domains.projects, arguments.project, [Path.cwd()], folders_first=True)
        if selection.alone is not None:
            arguments.project = str(selection.alone.project.root)
            return None
        fresh = freshen_all(selection, bar, wait_seconds=float("inf"))
        bar.clear()
        if arguments.json:
            return _print_objects(app, fresh, tool, arguments)
        return _print_texts(app, tool, arguments, bar)


def _require_symbol(arguments: argparse.Namespace) -> None:
    if not getattr(arguments, "at", "-") and not arguments.symbol:
        raise BadArgument("There is no symbol", hint="Give a name, or --at FILE:LINE.")


def _print_objects(app: App, fresh: FreshSelection, tool: str, arguments: argparse.Namespace) -> int:
    """Print JSON objects with their project, then the projects that could not be searched."""
    from deltos.cli.graph_json import BY_TOOL, unanswered_json
    from deltos.domains.graph.cross_project import CrossProjectIndex
    from deltos.domains.graph.importers import ImporterFinder
    from deltos.domains.graph.multi_project import MultiProjectGraph

    cross_project = CrossProjectIndex()
    importer_finder = ImporterFinder(
        app.domains.projects, cross_project, [each.index.project.root for each in fresh.ready]
    )
    graphs = MultiProjectGraph.of(
        fresh, cross_project, app.links, token_budget=app.config.token_budget, importer_finder=importer_finder
    )

    def answer(request: argparse.Namespace) -> None:
        for text in BY_TOOL[tool](graphs, request):
            print_json(text)

    code = _for_each_symbol(arguments, answer)
    for text in unanswered_json(graphs):
        print_json(text)
    return code


def _print_texts(app: App, tool: str, arguments: argparse.Namespace, bar: ProgressBar) -> int:
    """Print the text of the tool's answer."""
    from deltos.server.conversation import Conversation

    named = next(each for each in app.tools() if each.name == tool)

    def answer(request: argparse.Namespace) -> None:
        given = {name: value for name in _COMMON_PARAMETERS if (value := getattr(request, name, None)) is not None}
        text = named.answer({**given, "project_path": request.project}, Conversation(Path.cwd()), bar)
        print(replace_tool_names_in_answer(text.text))

    return _for_each_symbol(arguments, answer)


def _for_each_symbol(arguments: argparse.Namespace, answer: Callable[[argparse.Namespace], None]) -> int:
    """Call `answer` for the symbol or for each FILE:LINE of standard input; return the exit code.

    A line without a definition is reported and does not stop the others.
    """
    at = getattr(arguments, "at", "")
    if at != "-":
        answer(argparse.Namespace(**{**vars(arguments), "symbol": at or getattr(arguments, "symbol", None)}))
        return 0
    found = True
    for place in filter(None, map(str.strip, sys.stdin)):
        try:
            answer(argparse.Namespace(**{**vars(arguments), "symbol": place}))
        except NotFound as problem:
            found = False
            _UndefinedPlace(place, problem).report(as_json=arguments.json)
    return 0 if found else 1


@_supports_several_projects("find_symbol")
def _find(arguments: argparse.Namespace) -> int:
    from deltos.cli.graph_json import symbol_json
    from deltos.domains.graph.render import render_symbols
    from deltos.domains.graph.symbol_query import kinds_of  # deferred, as all domain imports: not needed for `--help`

    with _open_graph(arguments) as (search, page, *_):
        rows = search.find(arguments.symbol, path=arguments.path, kinds=kinds_of(arguments.kind))
        if arguments.json:
            for row in rows[: arguments.limit]:
                print_json(symbol_json(row, search.source.generated))
        else:
            page = page.with_note(search.name_note(arguments.symbol))
            print(
                replace_tool_names_in_answer(
                    render_symbols(rows, arguments.symbol, limit=arguments.limit, page=page).text
                )
            )
    return 0


@_supports_several_projects("find_references")
def _refs(arguments: argparse.Namespace) -> int:
    from deltos.cli.graph_json import not_asked_json, references_json
    from deltos.domains.graph.render import render_references

    with _open_graph(arguments) as (search, page, _, is_complete, importers_of):
        page = page.with_note(search.name_note(arguments.symbol or ""))
        found = True
        for target in _select_targets(search, arguments):
            if isinstance(target, _UndefinedPlace):
                found = False
                target.report(as_json=arguments.json)
                continue
            references, importers = search.references(target), importers_of(target)
            if arguments.json:
                print_json({**references_json(references, search.source), **not_asked_json(importers)})
            else:
                text = render_references(
                    references,
                    search.source,
                    limit=arguments.limit,
                    page=page.with_note(importers.note("this project")),
                    is_complete=is_complete,
                    unsearched_importers=importers.names_text,
                ).text
                print(replace_tool_names_in_answer(text))
    return 0 if found else 1


@dataclass(frozen=True, slots=True)
class _UndefinedPlace:
    """A FILE:LINE of the input at which nothing is defined."""

    place: str
    problem: NotFound

    def report(self, *, as_json: bool) -> None:
        """Print the error, or its JSON object."""
        from deltos.cli.graph_json import undefined_json

        if as_json:
            print_json(undefined_json(self.place, self.problem))
        else:
            print(f"Error: {self.problem}", file=sys.stderr)


def _select_targets(search: GraphSearch, arguments: argparse.Namespace) -> Iterator[Target | _UndefinedPlace]:
    """Yield the selected definitions, or an `_UndefinedPlace` for each line of the input without one."""
    if not arguments.at:
        yield from search.targets(arguments.symbol)
    elif arguments.at != "-":
        yield search.at(arguments.at)
    else:
        for place in filter(None, map(str.strip, sys.stdin)):
            try:
                yield search.at(place)
            except NotFound as problem:
                yield _UndefinedPlace(place, problem)


@_supports_several_projects("get_impact")
def _impact(arguments: argparse.Namespace) -> int:
    from deltos.cli.graph_json import impact_json, not_asked_json
    from deltos.domains.graph.render import render_impact

    with _open_graph(arguments) as (search, page, links, _, importers_of):
        page = page.with_note(search.name_note(arguments.symbol))
        for target in search.targets(arguments.symbol):
            impact, importers = search.impact(target), importers_of(target)
            if arguments.json:
                print_json({**impact_json(impact), **not_asked_json(importers)})
            else:
                together = links.changed_with(target.first.path, search.root)
                noted = page.with_note(importers.note("this project"))
                text = render_impact(impact, search.source, together, limit=arguments.limit, page=noted).text
                print(replace_tool_names_in_answer(text))
    return 0


@_supports_several_projects("detect_circular")
def _cycles(arguments: argparse.Namespace) -> int:
    from deltos.cli.graph_json import component_json
    from deltos.domains.graph.cycles import find_cycles
    from deltos.domains.graph.render import render_cycles

    with _open_graph(arguments) as (search, page, *_):
        found = find_cycles(search.reader.imports())
        if arguments.json:
            for component in found:
                print_json(component_json(component))
        else:
            print(replace_tool_names_in_answer(render_cycles(found, search.reader.paths(), page=page).text))
    return 0


def _draw(arguments: argparse.Namespace) -> int:
    from deltos.ui.graph_drawing import draw_svg
    from deltos.ui.graph_views import around, impact

    with _open_graph(arguments) as (search, *_):
        drawn = (impact if arguments.impact else around)(search, arguments.symbol)
    picture = draw_svg(drawn, by_sides=not arguments.impact)
    if arguments.output == "-":
        if arguments.json:
            print_json({"svg": picture, "symbols": len(drawn.nodes), "left_out": drawn.left_out})
        else:
            sys.stdout.write(picture)
        return 0
    Path(arguments.output).write_text(picture, "utf-8", newline="\n")
    shown = {"file": arguments.output, "symbols": len(drawn.nodes), "left_out": drawn.left_out}
    if arguments.json:
        print_json(shown)
    else:
        more = f"; {drawn.left_out} more not drawn" if drawn.left_out else ""
        print(
            f"{arguments.output}: {counted(len(drawn.nodes), 'symbol')}, {counted(len(drawn.edges), 'reference')}{more}"
        )
        for note in drawn.notes:
            print(note)
    return 0


@_supports_several_projects("get_context")
def _context(arguments: argparse.Namespace) -> int:
    from deltos.cli.graph_json import context_json, scope_json
    from deltos.domains.graph.render import render_context

    with _open_graph(arguments) as (search, page, links, *_):
        if (scope := search.scope(arguments.symbol)) is not None:
            text = _map(search, scope, links, page)
            if arguments.json:
                print_json(scope_json(search, scope, text))
            else:
                print(replace_tool_names_in_answer(text))
            return 0
        page = page.with_note(search.name_note(arguments.symbol))
        for target in search.targets(arguments.symbol):
            context = search.context(target)
            if arguments.json:
                print_json(context_json(context))
            else:
                first, root = target.first, search.root
                extras = [*links.past(first, root), *links.mentions(first.name, root)]
                print(replace_tool_names_in_answer(render_context(context, search.source, extras, page=page).text))
    return 0


def _map(search: GraphSearch, scope: Scope, links: DomainLinks, page: BudgetedLines) -> str:
    from deltos.domains.graph.map import render_file_map, render_map

    if not scope.is_file:
        return render_map(search, scope.path, page=page).text
    extras = links.mentions(scope.path.rpartition("/")[2], search.root)
    return render_file_map(search, scope.path, extras, page=page).text


@_supports_several_projects("get_stats")
def _stats(arguments: argparse.Namespace) -> int:
    from deltos.cli.graph_json import stats_json
    from deltos.domains.graph.render import render_stats

    with _open_graph(arguments) as (search, page, *_):
        counts = search.reader.counts()
        if arguments.json:
            print_json(stats_json(counts))
        else:
            print(replace_tool_names_in_answer(render_stats(counts, "index complete and up to date", page=page).text))
    return 0


@contextmanager
def _graph_app() -> Iterator[App]:
    """Open the application with the graph toolset enabled, even if servers do not offer it."""
    config = Config.from_environment()
    with open_app(replace(config, toolsets=tuple(dict.fromkeys((*config.toolsets, "graph"))))) as app:
        yield app


class _GraphSession(NamedTuple):
    """An opened project graph with related data.

    `importers_of` returns the projects that import a definition but were not searched.
    """

    search: GraphSearch
    page: BudgetedLines
    links: DomainLinks
    is_complete: bool
    importers_of: Callable[[Target], Importers]


@contextmanager
def _open_graph(arguments: argparse.Namespace) -> Iterator[_GraphSession]:
    """Open the graph of the project after updating it, without a time limit."""
    from deltos.domains.graph.budgeted_lines import BudgetedLines, with_notes
    from deltos.domains.graph.cross_project import CrossProjectIndex, ProjectHandle
    from deltos.domains.graph.importers import ImporterFinder

    bar = ProgressBar()
    with _graph_app() as app:
        index = app.domains.projects.at(Path(arguments.project))
        freshness = index.freshen(progress=bar, wait_seconds=float("inf"))
        bar.clear()
        notes = freshness.notes_about("graph")
        page = BudgetedLines(token_budget=app.config.token_budget, notes=notes, generated=index.store.generated())
        member = ProjectHandle.of(index.project.root.name, index.store, index.workers)
        importer_finder = ImporterFinder(app.domains.projects, CrossProjectIndex(), [index.project.root])

        def importers_of(target: Target) -> Importers:
            return importer_finder.importing(member, [target.first.path])

        is_complete = freshness.complete and not freshness.notes
        try:
            yield _GraphSession(app.graph_search(index), page, app.links, is_complete, importers_of)
        except NotFound as problem:
            raise with_notes(problem, notes) from None
