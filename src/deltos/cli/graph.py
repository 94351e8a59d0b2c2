"""`deltos graph`: query the code graph."""

from __future__ import annotations

import argparse
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.api_contracts import print_links
from deltos.cli.command import add_command_group, add_limit, add_project, add_verb, open_app, print_json
from deltos.cli.command_names import replace_tool_names_in_answer
from deltos.cli.progress_bar import ProgressBar
from deltos.config import Config
from deltos.errors import BadArgument, NotFound
from deltos.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.cli.command import Run, Subparsers
    from deltos.domains.graph.answers import GraphAnswers
    from deltos.tool import Answer

MAX_RESULTS = 500


def add_commands(subparsers: Subparsers) -> None:
    """Add the `graph` command and all subcommands."""
    verbs = add_command_group(subparsers, "graph")
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
        help="the definition at this line; - reads FILE:LINE values from standard input",
    )
    add_limit(refs, maximum=MAX_RESULTS, default=30)
    impact = add_verb(verbs, "impact", _impact, "list the symbols and tests that a change to a symbol affects")
    impact.add_argument("symbol", help="name or dotted name")
    add_limit(impact, maximum=MAX_RESULTS, default=50)
    cycles = add_verb(verbs, "cycles", _cycles, "list circular imports")
    context = add_verb(verbs, "context", _context, "show a symbol with its callers, callees and members")
    context.add_argument("symbol", nargs="?", default="", help="name, FILE:LINE, file or folder; default: the project")
    draw = add_verb(verbs, "draw", _draw, "draw the neighbourhood or the impact of a symbol as SVG")
    draw.add_argument("symbol", help="name, dotted name or FILE:LINE")
    draw.add_argument("-o", "--output", default="-", metavar="FILE", help="output file; default: standard output")
    draw.add_argument("--impact", action="store_true", help="draw the symbols that a change affects, by distance")
    stats = add_verb(verbs, "stats", _stats, "show the size of the graph and the number of resolved references")
    for verb in (find, refs, impact, cycles, context, stats):
        add_project(verb, takes_several=True)
    add_project(draw)


def _make_command(json_of: str, text_of: Callable[[GraphAnswers, argparse.Namespace], Answer]) -> Run:
    """Return a command that prints the text from `text_of`, or JSON with `--json`.

    `json_of` is the name of the function of `graph_json` that returns the objects.
    """

    def run(arguments: argparse.Namespace) -> int:
        from deltos.cli import graph_json  # deferred import, like all domain imports here: not needed for `--help`
        from deltos.federation.contracts.links import parse_key

        if not getattr(arguments, "at", "-") and not arguments.symbol:
            raise BadArgument("No symbol is given", hint="Give a name, or --at FILE:LINE.")
        if getattr(arguments, "symbol", "") and parse_key(arguments.symbol):
            return print_links(arguments, arguments.symbol)
        with _open_graphs(arguments) as answers:

            def answer(request: argparse.Namespace) -> None:
                if not arguments.json:
                    print(replace_tool_names_in_answer(text_of(answers, request).text))
                    return
                for each in getattr(graph_json, json_of)(answers, request):
                    print_json(each)

            code = _for_each_symbol(arguments, answer)
            for each in graph_json.unanswered_json(answers.graphs) if arguments.json else ():
                print_json(each)
        return code

    return run


def _for_each_symbol(arguments: argparse.Namespace, answer: Callable[[argparse.Namespace], None]) -> int:
    """Call `answer` for the given symbol, or for each FILE:LINE on standard input, and return the exit code.

    If nothing is defined at a line, report an error and continue with the next line.
    """
    from deltos.cli.graph_json import undefined_json

    at = getattr(arguments, "at", "")
    if at != "-":
        answer(argparse.Namespace(**{**vars(arguments), "symbol": at or getattr(arguments, "symbol", None)}))
        return 0
    is_complete = True
    for location in filter(None, map(str.strip, sys.stdin)):
        try:
            answer(argparse.Namespace(**{**vars(arguments), "symbol": location}))
        except NotFound as problem:
            is_complete = False
            if arguments.json:
                print_json(undefined_json(location, problem))
            else:
                print(f"Error: {problem}", file=sys.stderr)
    return 0 if is_complete else 1


def _find_text(answers: GraphAnswers, request: argparse.Namespace) -> Answer:
    from deltos.domains.graph.symbol_query import parse_kinds

    return answers.find_symbol(request.symbol, path=request.path, kinds=parse_kinds(request.kind), limit=request.limit)


def _refs_text(answers: GraphAnswers, request: argparse.Namespace) -> Answer:
    return answers.find_references(
        request.symbol, path="", tests="include", limit=request.limit, is_location=bool(request.at)
    )


_find = _make_command("definitions_json", _find_text)
_refs = _make_command("references_json", _refs_text)
_impact = _make_command(
    "impacts_json", lambda answers, request: answers.get_impact(request.symbol, limit=request.limit)
)
_cycles = _make_command("cycles_json", lambda answers, _: answers.detect_circular())
_context = _make_command("contexts_json", lambda answers, request: answers.get_context(request.symbol))
_stats = _make_command("statistics_json", lambda answers, _: answers.get_stats())


def _draw(arguments: argparse.Namespace) -> int:
    from deltos.ui.graph_drawing import draw_svg
    from deltos.ui.graph_views import impact, neighbourhood

    with _open_graphs(arguments) as answers:
        drawn = (impact if arguments.impact else neighbourhood)(answers.graphs.projects[0].search, arguments.symbol)
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


@contextmanager
def _open_graphs(arguments: argparse.Namespace) -> Iterator[GraphAnswers]:
    """Open the graphs of the selected projects after updating them, without a time limit.

    The graph toolset is enabled even if servers do not offer it.
    """
    from deltos.domains.graph.answers import GraphAnswers
    from deltos.domains.graph.cross_project import CrossProjectIndex
    from deltos.domains.graph.importers import ImporterFinder
    from deltos.domains.graph.selection import GraphSelection
    from deltos.workspace.project_selection import answer_on_fresh, select

    bar = ProgressBar()
    config = Config.from_environment()
    with open_app(replace(config, toolsets=tuple(dict.fromkeys((*config.toolsets, "graph"))))) as app:
        projects = app.domains.projects
        selection = select(projects, arguments.project, [Path.cwd()], folders_first=True)
        fresh = answer_on_fresh(selection, bar, lambda fresh: fresh, wait_seconds=float("inf"))
        bar.clear()
        cross_project = CrossProjectIndex()
        asked = [each.index.project.root for each in fresh.ready]
        graphs = GraphSelection(fresh, cross_project, ImporterFinder(projects, cross_project, asked))
        yield GraphAnswers(graphs, app.links, token_budget=config.token_budget)
