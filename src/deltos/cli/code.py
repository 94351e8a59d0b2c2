"""`deltos code search` and `deltos explore`: search code, and answer questions with code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.command import (
    add_command,
    add_command_group,
    add_limit,
    add_project,
    add_query,
    add_verb,
    batch_queries,
    integer_range,
    open_app,
    print_json,
    print_notes,
)
from deltos.cli.command_names import replace_tool_names_in_answer
from deltos.cli.progress_bar import ProgressBar
from deltos.cli.style import print_answer
from deltos.errors import BadArgument

if TYPE_CHECKING:
    import argparse

    from deltos.cli.command import Subparsers
    from deltos.domains.code.model import CodeHit
    from deltos.domains.code.search import CodeSearch
    from deltos.store.code import FileScope

MAX_RESULTS = 50
DEFAULT_BUDGET, MIN_BUDGET, MAX_BUDGET = 2_500, 500, 8_000  # token budget of an `explore` answer


def add_commands(subparsers: Subparsers) -> None:
    """Add the commands `code` and `explore`."""
    explore = add_command(subparsers, "explore", _explore)
    add_query(explore, "question, task, issue, stack trace or names")
    add_project(explore, takes_several=True)
    explore.add_argument(
        "--budget",
        type=integer_range(MIN_BUDGET, MAX_BUDGET),
        default=DEFAULT_BUDGET,
        metavar="N",
        help=f"maximum tokens of the answer, {MIN_BUDGET} to {MAX_BUDGET}; default {DEFAULT_BUDGET}",
    )
    explore.add_argument("--directory", default="", metavar="DIR", help="only files below this folder of the project")
    verbs = add_command_group(subparsers, "code")
    search = add_verb(verbs, "search", _search, 'search code: words, a symbol, a "quoted string" or a /regex/')
    add_query(search)
    add_project(search, takes_several=True)
    add_limit(search, maximum=MAX_RESULTS)
    search.add_argument("--type", default="", metavar="TYPE", help="only files of these types: py, .ts, python; ts,tsx")
    search.add_argument("--directory", default="", metavar="DIR", help="only files below this folder of the project")
    search.add_argument("--concise", action="store_true", help="print one line per result with location and signature")
    search.add_argument(
        "--batch", metavar="FILE", help='read {"id", "query"} JSON lines from FILE; - for standard input'
    )


def _search(arguments: argparse.Namespace) -> int:
    if not arguments.query and not arguments.batch:
        raise BadArgument("No query is given", hint='Try: deltos code search "where is the cache cleared"')
    from deltos.domains.code.project_search import open_search, scope_for_projects  # not needed for `--help`
    from deltos.workspace.project_selection import answer_on_fresh, select

    bar = ProgressBar()
    with open_app() as app:
        selection = select(app.domains.projects, arguments.project, [Path.cwd()], folders_first=True)
        chosen, scope = scope_for_projects(selection, arguments.directory, arguments.type)
        fresh = answer_on_fresh(chosen, bar, lambda fresh: fresh, wait_seconds=float("inf"))
        bar.clear()
        search = open_search(fresh.ready, by_meaning=app.config.searches_by_meaning)
        print_notes(fresh.notes_about("code"), with_json=arguments.json or arguments.batch)
        if arguments.batch:
            return _answer_batch(search, scope, arguments.batch, arguments.limit)
        return _print_answer(search, scope, arguments)


def _explore(arguments: argparse.Namespace) -> int:
    from deltos.federation.explore.tools import Exploration  # deferred import: not needed for `--help`
    from deltos.workspace.project_selection import select

    if not arguments.query:
        raise BadArgument("No question is given", hint='Try: deltos explore "how is the cache invalidated"')
    bar = ProgressBar()
    with open_app() as app:
        selection = select(app.domains.projects, arguments.project, [Path.cwd()], folders_first=True)
        asked = Exploration(
            arguments.query,
            arguments.directory,
            arguments.budget,
            by_meaning=app.config.searches_by_meaning,
            related=app.links.related_lines,
        )
        answer = asked.answer(selection, bar)
    bar.clear()
    if arguments.json:
        print_json({"text": answer.text, "truncated": answer.truncated})
    else:
        print(replace_tool_names_in_answer(answer.text))
    return 0


def _answer_batch(search: CodeSearch, scope: FileScope, source: str, limit: int) -> int:
    for item in batch_queries(source):
        hits = search.search(item.query, scope, limit=limit).hits if item.query.strip() else ()
        print_json({"id": item.id, "results": [_as_data(hit) for hit in hits]})
    return 0


def _print_answer(search: CodeSearch, scope: FileScope, arguments: argparse.Namespace) -> int:
    from deltos.domains.code.present.render import render_text  # deferred import: not needed for `--help`

    answer = search.search(arguments.query, scope, limit=arguments.limit)
    if arguments.json:
        for hit in answer.hits:
            print_json(_as_data(hit))
    else:
        text = render_text(answer, query=arguments.query, concise=arguments.concise)
        print_answer(replace_tool_names_in_answer(text), [f"{hit.path}:{hit.start_line}" for hit in answer.hits])
    return 0 if answer.hits else 1


def _as_data(hit: CodeHit) -> dict[str, str | int | float]:
    return {
        **({"repository": hit.repository} if hit.repository else {}),
        "path": hit.path,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "symbol": hit.symbol,
        "kind": hit.kind,
        "score": hit.score,
        "text": hit.content,
    }
