"""`deltos graph`: ask the code graph from the shell."""

from __future__ import annotations

import argparse
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deltos.cli.command import add_group, add_limit, add_project, add_verb, opened_app, print_json
from deltos.cli.progress_bar import ProgressBar
from deltos.cli.wording import name_commands_in_notes
from deltos.config import Config
from deltos.errors import BadArgument, NotFound
from deltos.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.app import App
    from deltos.cli.command import Run, Subparsers
    from deltos.domains.graph.page import BudgetedLines
    from deltos.domains.graph.search import GraphSearch, Scope, Target
    from deltos.domains.graph.unasked import Importers
    from deltos.federation.links import Links
    from deltos.workspace.selection import FreshSelection

_MOST_RESULTS = 500
_GIVEN = ("symbol", "limit", "path", "kind")  # what verbs and tools call alike


def add_commands(subparsers: Subparsers) -> None:
    """Add `graph` and its verbs."""
    verbs = add_group(subparsers, "graph", "the graph of the code: definitions, references, impact, cycles")
    find = add_verb(verbs, "find", _find, "find where a symbol is defined")
    find.add_argument("symbol", help="a name, a dotted name or a regular expression")
    find.add_argument("--path", default="", help="only in this file, folder or glob")
    find.add_argument("--kind", default="", help="only such symbols: function, class, …; several: function,method")
    add_limit(find, most=_MOST_RESULTS, default=20)
    refs = add_verb(verbs, "refs", _refs, "list every use of a symbol")
    refs.add_argument("symbol", nargs="?", default="", help="a name or dotted name")
    refs.add_argument(
        "--at", default="", metavar="FILE:LINE", help="the definition on that line; - reads one per input line"
    )
    add_limit(refs, most=_MOST_RESULTS, default=30)
    impact = add_verb(verbs, "impact", _impact, "list what a change of a symbol affects")
    impact.add_argument("symbol", help="a name or dotted name")
    add_limit(impact, most=_MOST_RESULTS, default=50)
    cycles = add_verb(verbs, "cycles", _cycles, "list circular imports")
    context = add_verb(verbs, "context", _context, "show a symbol and its neighbourhood")
    context.add_argument("symbol", nargs="?", default="", help="a name, FILE:LINE, a file or a folder; default: all")
    draw = add_verb(verbs, "draw", _draw, "draw a symbol's neighbourhood, or its impact, as SVG")
    draw.add_argument("symbol", help="a name, a dotted name or FILE:LINE")
    draw.add_argument("-o", "--output", default="-", metavar="FILE", help="where to; default: standard output")
    draw.add_argument("--impact", action="store_true", help="what a change affects, by distance")
    stats = add_verb(verbs, "stats", _stats, "show how large the graph is and how much is resolved")
    for verb in (find, refs, impact, cycles, context, stats):
        add_project(verb, takes_several=True)
    add_project(draw)


def _for_several(tool: str) -> Callable[[Run], Run]:
    """A verb that asks the tool of this name where several projects are meant, or its form for `--json`."""

    def wrapped(run: Run) -> Run:
        @wraps(run)
        def asked(arguments: argparse.Namespace) -> int:
            code = _ask_several(tool, arguments)
            return run(arguments) if code is None else code

        return asked

    return wrapped


def _ask_several(tool: str, arguments: argparse.Namespace) -> int | None:
    """Print what is known about several projects; None where one is meant, which is opened without it."""
    from deltos.workspace.selection import freshen_all, select  # deferred, as all domain imports here

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
    """Print objects, each with its project; then the projects that did not answer."""
    from deltos.cli.graph_json import OF_SEVERAL, left_json
    from deltos.domains.graph.across import Crossroads
    from deltos.domains.graph.several import SeveralGraphs
    from deltos.domains.graph.unasked import Unasked

    crossroads = Crossroads()
    unasked = Unasked(app.domains.projects, crossroads, [each.index.project.root for each in fresh.ready])
    graphs = SeveralGraphs.of(fresh, crossroads, app.links, token_budget=app.config.token_budget, unasked=unasked)

    def answer(asked: argparse.Namespace) -> None:
        for told in OF_SEVERAL[tool](graphs, asked):
            print_json(told)

    code = _each_asked(arguments, answer)
    for told in left_json(graphs):
        print_json(told)
    return code


def _print_texts(app: App, tool: str, arguments: argparse.Namespace, bar: ProgressBar) -> int:
    """Print what a tool answers."""
    from deltos.server.conversation import Conversation

    named = next(each for each in app.tools() if each.name == tool)

    def answer(asked: argparse.Namespace) -> None:
        given = {name: value for name in _GIVEN if (value := getattr(asked, name, None)) is not None}
        told = named.answer({**given, "project_path": asked.project}, Conversation(Path.cwd()), bar)
        print(name_commands_in_notes(told.text))

    return _each_asked(arguments, answer)


def _each_asked(arguments: argparse.Namespace, answer: Callable[[argparse.Namespace], None]) -> int:
    """Answer for the symbol or place that is asked for, or for each of a list of places, of which one that defines
    nothing does not stop the others."""
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
            _Undefined(place, problem).tell(as_json=arguments.json)
    return 0 if found else 1


@_for_several("find_symbol")
def _find(arguments: argparse.Namespace) -> int:
    from deltos.cli.graph_json import symbol_json
    from deltos.domains.graph.query import kinds_of  # deferred, as all domain imports here: `--help` needs none of it
    from deltos.domains.graph.render import render_symbols

    with _opened(arguments) as (search, page, *_):
        rows = search.find(arguments.symbol, path=arguments.path, kinds=kinds_of(arguments.kind))
        if arguments.json:
            for row in rows[: arguments.limit]:
                print_json(symbol_json(row, search.source.generated))
        else:
            page = page.noted(search.note_on(arguments.symbol))
            print(name_commands_in_notes(render_symbols(rows, arguments.symbol, limit=arguments.limit, page=page).text))
    return 0


@_for_several("find_references")
def _refs(arguments: argparse.Namespace) -> int:
    from deltos.cli.graph_json import not_asked_json, references_json
    from deltos.domains.graph.render import render_references

    with _opened(arguments) as (search, page, _, is_complete, importers_of):
        page = page.noted(search.note_on(arguments.symbol or ""))
        found = True
        for target in _chosen(search, arguments):
            if isinstance(target, _Undefined):
                found = False
                target.tell(as_json=arguments.json)
                continue
            references, importers = search.references(target), importers_of(target)
            if arguments.json:
                print_json({**references_json(references, search.source), **not_asked_json(importers)})
            else:
                told = render_references(
                    references,
                    search.source,
                    limit=arguments.limit,
                    page=page.noted(importers.note("this project")),
                    is_complete=is_complete,
                    unasked=importers.named,
                ).text
                print(name_commands_in_notes(told))
    return 0 if found else 1


@dataclass(frozen=True, slots=True)
class _Undefined:
    """A FILE:LINE of the input at which nothing is defined."""

    place: str
    problem: NotFound

    def tell(self, *, as_json: bool) -> None:
        """Say so, as one line of the answer or as an error."""
        from deltos.cli.graph_json import undefined_json

        if as_json:
            print_json(undefined_json(self.place, self.problem))
        else:
            print(f"Error: {self.problem}", file=sys.stderr)


def _chosen(search: GraphSearch, arguments: argparse.Namespace) -> Iterator[Target | _Undefined]:
    """What the references of are wanted; a place of a list that defines nothing does not stop the others."""
    if not arguments.at:
        yield from search.targets(arguments.symbol)
    elif arguments.at != "-":
        yield search.at(arguments.at)
    else:
        for place in filter(None, map(str.strip, sys.stdin)):
            try:
                yield search.at(place)
            except NotFound as problem:
                yield _Undefined(place, problem)


@_for_several("get_impact")
def _impact(arguments: argparse.Namespace) -> int:
    from deltos.cli.graph_json import impact_json, not_asked_json
    from deltos.domains.graph.render import render_impact

    with _opened(arguments) as (search, page, links, _, importers_of):
        page = page.noted(search.note_on(arguments.symbol))
        for target in search.targets(arguments.symbol):
            impact, importers = search.impact(target), importers_of(target)
            if arguments.json:
                print_json({**impact_json(impact), **not_asked_json(importers)})
            else:
                together = links.changed_with(target.first.path, search.root)
                noted = page.noted(importers.note("this project"))
                told = render_impact(impact, search.source, together, limit=arguments.limit, page=noted).text
                print(name_commands_in_notes(told))
    return 0


@_for_several("detect_circular")
def _cycles(arguments: argparse.Namespace) -> int:
    from deltos.cli.graph_json import component_json
    from deltos.domains.graph.cycles import find_cycles
    from deltos.domains.graph.render import render_cycles

    with _opened(arguments) as (search, page, *_):
        found = find_cycles(search.reader.imports())
        if arguments.json:
            for component in found:
                print_json(component_json(component))
        else:
            print(name_commands_in_notes(render_cycles(found, search.reader.paths(), page=page).text))
    return 0


def _draw(arguments: argparse.Namespace) -> int:
    from deltos.ui.draw import draw_svg
    from deltos.ui.graph_views import around, impact

    with _opened(arguments) as (search, *_):
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
        more = f"; {drawn.left_out} more are not drawn" if drawn.left_out else ""
        print(
            f"{arguments.output}: {counted(len(drawn.nodes), 'symbol')}, {counted(len(drawn.edges), 'reference')}{more}"
        )
        for note in drawn.notes:
            print(note)
    return 0


@_for_several("get_context")
def _context(arguments: argparse.Namespace) -> int:
    from deltos.cli.graph_json import context_json, scope_json
    from deltos.domains.graph.render import render_context

    with _opened(arguments) as (search, page, links, *_):
        if (scope := search.scope(arguments.symbol)) is not None:
            told = _map(search, scope, links, page)
            if arguments.json:
                print_json(scope_json(search, scope, told))
            else:
                print(name_commands_in_notes(told))
            return 0
        page = page.noted(search.note_on(arguments.symbol))
        for target in search.targets(arguments.symbol):
            context = search.context(target)
            if arguments.json:
                print_json(context_json(context))
            else:
                first, root = target.first, search.root
                extras = [*links.past(first, root), *links.mentions(first.name, root)]
                print(name_commands_in_notes(render_context(context, search.source, extras, page=page).text))
    return 0


def _map(search: GraphSearch, scope: Scope, links: Links, page: BudgetedLines) -> str:
    from deltos.domains.graph.map import render_file_map, render_map

    if not scope.is_file:
        return render_map(search, scope.path, page=page).text
    extras = links.mentions(scope.path.rpartition("/")[2], search.root)
    return render_file_map(search, scope.path, extras, page=page).text


@_for_several("get_stats")
def _stats(arguments: argparse.Namespace) -> int:
    from deltos.cli.graph_json import stats_json
    from deltos.domains.graph.render import render_stats

    with _opened(arguments) as (search, page, *_):
        counts = search.reader.counts()
        if arguments.json:
            print_json(stats_json(counts))
        else:
            print(name_commands_in_notes(render_stats(counts, "index complete and up to date", page=page).text))
    return 0


@contextmanager
def _graph_app() -> Iterator[App]:
    """The application with the graph, whatever servers offer."""
    config = Config.from_environment()
    with opened_app(replace(config, toolsets=tuple(dict.fromkeys((*config.toolsets, "graph"))))) as app:
        yield app


class _Opened(NamedTuple):
    """A project's graph, and what is linked to it; `importers_of` tells which projects that import a definition were
    not asked."""

    search: GraphSearch
    page: BudgetedLines
    links: Links
    is_complete: bool
    importers_of: Callable[[Target], Importers]


@contextmanager
def _opened(arguments: argparse.Namespace) -> Iterator[_Opened]:
    """The project's graph, brought up to date however long that takes."""
    from deltos.domains.graph.across import Crossroads, Member
    from deltos.domains.graph.page import BudgetedLines, with_notes
    from deltos.domains.graph.unasked import Unasked

    bar = ProgressBar()
    with _graph_app() as app:
        index = app.domains.projects.at(Path(arguments.project))
        freshness = index.freshen(progress=bar, wait_seconds=float("inf"))
        bar.clear()
        notes = freshness.notes_about("graph")
        page = BudgetedLines(token_budget=app.config.token_budget, notes=notes, generated=index.store.generated())
        member = Member.of(index.project.root.name, index.store, index.workers)
        unasked = Unasked(app.domains.projects, Crossroads(), [index.project.root])

        def importers_of(target: Target) -> Importers:
            return unasked.importing(member, [target.first.path])

        is_complete = freshness.complete and not freshness.notes
        try:
            yield _Opened(app.graph_search(index), page, app.links, is_complete, importers_of)
        except NotFound as problem:
            raise with_notes(problem, notes) from None
