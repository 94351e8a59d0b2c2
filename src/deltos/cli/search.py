"""`deltos search` and `deltos fetch`: search all domains, and show the full text of a result."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.command import (
    add_command,
    add_limit,
    add_project,
    add_query,
    batch_queries,
    open_app,
    print_json,
    print_notes,
)
from deltos.cli.command_names import replace_tool_names_in_note
from deltos.cli.progress_bar import ProgressBar
from deltos.cli.style import HIGHLIGHT, Styled, print_styled
from deltos.config import TOOLSETS
from deltos.errors import BadArgument

if TYPE_CHECKING:
    import argparse

    from deltos.app import App
    from deltos.cli.command import Subparsers
    from deltos.tool import JsonObject

MAX_RESULTS = 20


def add_commands(subparsers: Subparsers) -> None:
    """Add the commands `search` and `fetch`."""
    search = add_command(subparsers, "search", _search)
    add_query(search, "question, name, or METHOD /path")
    add_limit(search, maximum=MAX_RESULTS)
    search.add_argument("--scope", default="", metavar="LIST", help=f"toolsets to search, some of {','.join(TOOLSETS)}")
    search.add_argument(
        "--project-id", default="", metavar="NAME", help="name or id of another indexed project; for memory also 'all'"
    )
    search.add_argument(
        "--kind", default="", metavar="LIST", help="only observations of these kinds, or commit; comma-separated"
    )
    search.add_argument(
        "--since", default="", metavar="TIME", help="only since 2026-11-16, an ISO time or '2 weeks ago'"
    )
    search.add_argument("--until", default="", metavar="TIME", help="only until this time")
    search.add_argument("--tag", default="", help="only observations and commits with this #tag")
    search.add_argument(
        "--batch", metavar="FILE", help='read {"id", "query"} JSON lines from FILE; - for standard input'
    )
    fetch = add_command(subparsers, "fetch", _fetch)
    fetch.add_argument("id", help="id such as code:src/app.py#main, doc:12, api:shop:GET /orders, commit:1a2b3c, obs:…")
    add_project(search, takes_several=True)
    add_project(fetch)


def _search(arguments: argparse.Namespace) -> int:
    is_filtered = arguments.kind or arguments.since or arguments.until or arguments.tag
    if not arguments.query and not arguments.batch and not is_filtered:
        raise BadArgument("No query is given", hint='Try: deltos search "how do I configure logging"')
    with open_app() as app:
        if arguments.batch:
            _answer_batch(app, arguments)
            return 0
        return _print_answer(app, arguments)


def _print_answer(app: App, arguments: argparse.Namespace) -> int:
    answer = _answer(app, arguments.query, arguments)
    results = answer[1]["results"]
    notes = _answer_notes(answer[1])
    if arguments.json:
        print_notes(notes, with_json=True)
        for result in results:
            print_json(result)
    elif not results:
        note = answer[1].get("note", "")
        print(answer[0].removesuffix(note) + replace_tool_names_in_note(note))
    else:
        if showing := answer[1].get("showing"):
            print(replace_tool_names_in_note(showing))
        print_notes(notes)
        for result in results:
            print_styled(
                Styled(f"{result['score']:.2f} "), Styled(result["id"], HIGHLIGHT), Styled(f"  {result['title']}")
            )
            print(f"     {result['snippet']}")
    return 0 if results else 1


def _answer_batch(app: App, arguments: argparse.Namespace) -> None:
    printed: set[str] = set()
    for item in batch_queries(arguments.batch):
        answer = _answer(app, item.query, arguments)[1] if item.query.strip() else {"results": []}
        notes = [note for note in _answer_notes(answer) if note not in printed]
        printed.update(notes)
        print_notes(notes, with_json=True)
        print_json({"id": item.id, "results": answer["results"]})


def _answer_notes(answer: JsonObject) -> list[str]:
    """Return the notes of an answer. An answer without results has a single note."""
    only = answer["note"] if not answer["results"] and "note" in answer else None
    return [replace_tool_names_in_note(note) for note in ([only] if only else answer.get("notes", ()))]


def _answer(app: App, query: str, arguments: argparse.Namespace) -> tuple[str, JsonObject]:
    # Deferred import, like the imports below: not needed for `--help`.
    from deltos.federation.filters import parse_filters
    from deltos.federation.model import SearchRequest
    from deltos.federation.render import search_answer

    bar = ProgressBar()
    folder = Path(arguments.project).absolute()
    is_folder = folder.is_dir()  # otherwise, --project contains names of projects or workspaces
    request = SearchRequest(
        query,
        folder if is_folder else Path.cwd(),
        bar,
        project_id=arguments.project_id or ("" if is_folder else arguments.project),
        limit=arguments.limit,
        filters=parse_filters(
            kind=arguments.kind,
            since=arguments.since,
            until=arguments.until,
            tag=arguments.tag,
            now=datetime.now(UTC),
        ),
    )
    found = app.federation.search(request, [name.strip() for name in arguments.scope.split(",") if name.strip()])
    bar.clear()
    answer = search_answer(query, found, limit=request.limit, token_budget=app.config.token_budget)
    return answer.text, answer.structured or {}


def _fetch(arguments: argparse.Namespace) -> int:
    from dataclasses import asdict

    from deltos.federation.model import SearchRequest

    bar = ProgressBar()
    with open_app() as app:
        document = app.federation.fetch(arguments.id, SearchRequest("", Path(arguments.project).absolute(), bar))
        bar.clear()
        if arguments.json:
            print_json(asdict(document))
        else:
            print(f"{document.title}\n{document.url}\n\n{document.text}")
    return 0
