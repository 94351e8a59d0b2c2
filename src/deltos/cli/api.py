"""`deltos api …`: add, list, show, search, refresh and remove API descriptions."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltos.cli.api_contracts import add_contract_verbs
from deltos.cli.command import (
    Subparsers,
    add_command_group,
    add_limit,
    add_project,
    add_query,
    add_verb,
    batch_queries,
    integer_range,
    open_app,
    print_json,
    project_roots,
)
from deltos.cli.command_names import replace_tool_names_in_answer
from deltos.cli.progress_bar import ProgressBar
from deltos.domains.apis.endpoints import Filter, select, show_endpoints
from deltos.domains.apis.library import api_of, tags_of
from deltos.domains.apis.render import render_api
from deltos.domains.apis.search import KINDS_OF_TYPE
from deltos.domains.apis.tools import render_list
from deltos.errors import BadArgument
from deltos.federation.api_adapters import check_refreshable
from deltos.model import MIN_API_CONFIDENCE
from deltos.wording import SEMANTIC_MATCH_MARK, weak_match
from deltos.workspace.source_projects import SHARED, project_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from deltos.domains.apis.domain import Apis
    from deltos.domains.apis.model import Api, ApiHit
    from deltos.domains.apis.prepare import UnreadDocument
    from deltos.store.apis import UnitRow


MAX_TOKENS = 25_000  # token budget of an answer; high, because terminal users can scroll
MAX_RESULTS = 50


def add_commands(subparsers: Subparsers) -> None:
    """Add the `api` command and all subcommands."""
    verbs = add_command_group(subparsers, "api")
    add = _add_verb_with_apis(verbs, "add", _add, "index an API description")
    add.add_argument("location", help="file, folder, URL or GraphQL endpoint")
    add.add_argument("--name", default="", help="name for the API; default: its title")
    add.add_argument(
        "--root", default="", help="folder outside which $ref is not resolved; default: the folder of the location"
    )
    add.add_argument("--shared", action="store_true", help="make it available to all projects")
    add_project(add)
    add_project(_add_verb_with_apis(verbs, "list", _list, "list the indexed APIs"), takes_all=True)
    show = _add_verb_with_apis(verbs, "show", _show, "show an API's operations")
    show.add_argument("name", help="name of the API")
    show.add_argument("--tag", default="", help="only operations with this tag")
    show.add_argument("--path", default="", help="only operations whose path contains this text")
    show.add_argument("--method", default="", help="only operations with this HTTP method")
    show.add_argument("--page", type=integer_range(1), default=1, help="page number; default: 1")
    search = _add_verb_with_apis(verbs, "search", _search, "find operations and schemas")
    add_query(search)
    search.add_argument("--api", default="", help="search only this API")
    add_project(search, takes_all=True)
    search.add_argument(
        "--type",
        action="append",
        default=[],
        dest="types",
        choices=tuple(KINDS_OF_TYPE),
        help="only results of this type; may be repeated",
    )
    add_limit(search, maximum=MAX_RESULTS)
    search.add_argument(
        "--batch", metavar="FILE", help='read {"id", "query"} JSON lines from FILE; - for standard input'
    )
    refresh = add_verb(verbs, "refresh", _refresh, "index an API again and list its changes")
    refresh.add_argument("name", help="name of the API")
    _add_verb_with_apis(verbs, "remove", _remove, "remove an API from the index").add_argument(
        "name", help="name of the API"
    )
    add_contract_verbs(verbs)


def _add_verb_with_apis(
    verbs: Subparsers,
    name: str,
    run: Callable[[Apis, argparse.Namespace], int],
    summary: str,
) -> argparse.ArgumentParser:
    def run_with_app(args: argparse.Namespace) -> int:
        with open_app() as app:
            return run(app.domains.apis, args)

    return add_verb(verbs, name, run_with_app, summary)


def _add(apis: Apis, args: argparse.Namespace) -> int:
    bar = ProgressBar()
    root = Path(args.root) if args.root else None
    try:
        projects = (SHARED,) if args.shared else (project_of(Path(args.project)),)
        report = apis.indexer.add(args.location, args.name, root=root, projects=projects, progress=bar)
    finally:
        bar.clear()
    for api in report.apis:
        print_json(_api_json(api)) if args.json else print(render_api(api, ()))
    _print_failures(report.failures, as_json=args.json)
    return 0


def _print_failures(failures: Iterable[UnreadDocument], *, as_json: bool) -> None:
    for failure in failures:
        if as_json:
            print_json({"document": failure.document, "error": failure.reason})
        else:
            print(f"Cannot read {failure.document}: {failure.reason}", file=sys.stderr)


def _update_index(apis: Apis, args: argparse.Namespace, name: str = "") -> None:
    """Re-index changed files and print notes about stale results."""
    notes = apis.freshen(name)
    if not args.json:
        for note in notes:
            print(replace_tool_names_in_answer(note))


def _list(apis: Apis, args: argparse.Namespace) -> int:
    _update_index(apis, args)
    if args.json:
        for api in apis.library.apis():
            unread = [
                {"document": row.document, "error": row.reason} for row in apis.library.unread_documents(api.source)
            ]
            print_json(_api_json(api) | {"not_read": unread})
    else:
        listed = render_list(apis.library, MAX_TOKENS, roots=project_roots(args.project))
        print(replace_tool_names_in_answer(listed.text))
    return 0


def _show(apis: Apis, args: argparse.Namespace) -> int:
    filter_ = Filter(args.tag, args.path, args.method)
    _update_index(apis, args, args.name)
    if args.json:
        print_json(_operations_json(apis, args.name, filter_))
    else:
        shown = show_endpoints(
            apis.library, args.name, filter_, page=args.page, token_budget=MAX_TOKENS, project_root=Path.cwd()
        )
        print(replace_tool_names_in_answer(shown.text))
    return 0


def _search(apis: Apis, args: argparse.Namespace) -> int:
    without = () if args.api else tuple(apis.library.apis_of_other_projects(project_roots(args.project)))
    search = partial(apis.searcher.search, api_name=args.api, types=args.types, limit=args.limit, without=without)
    if args.batch:
        apis.freshen(args.api)
        for row in batch_queries(args.batch):
            print_json({"id": row.id, "results": [_hit_json(hit) for hit in search(row.query)]})
        return 0
    if not args.query:
        raise BadArgument("No query is given", hint="Try: deltos api search 'create a refund' --api stripe")
    _update_index(apis, args, args.api)
    found = search(args.query)
    if found and found[0].confidence < MIN_API_CONFIDENCE and not args.json:
        print(weak_match(found[0].confidence))
    for hit in found:
        print_json(_hit_json(hit)) if args.json else print(_hit_line(hit))
    if named := () if args.api else apis.searcher.mentioned_apis(args.query, without).names:
        print(
            f"Searched only {', '.join(named)}, which the query mentions. Use --api NAME for another API.",
            file=sys.stderr,
        )
    if not found and not args.json:
        searched = apis.searcher.count_searchable(args.api, without)
        print(f"No results found for query: {args.query} (searched {searched} operations, schemas and tags)")
        if others := apis.library.apis_of_other_projects(project_roots(args.project)).values():
            print(f"Only in other projects: {', '.join(others)}. Use --api NAME, or --project '*' for all.")
    return 0 if found else 1


def _refresh(args: argparse.Namespace) -> int:
    with open_app() as app:
        check_refreshable(app.domains, args.name)
        report = app.domains.apis.indexer.refresh(args.name)
    for api in report.apis:
        print_json(_api_json(api)) if args.json else print(render_api(api, ()))
    _print_failures(report.failures, as_json=args.json)
    return 0


def _remove(apis: Apis, args: argparse.Namespace) -> int:
    removed = apis.indexer.remove(args.name)
    if args.json:
        print_json({"removed": list(removed)})
    else:
        print(f"Removed {', '.join(removed)}.")
    return 0


def _operations_json(apis: Apis, name: str, filter_: Filter) -> dict[str, Any]:
    row = apis.library.row(name)
    overview = api_of(row).overview
    chosen = select(apis.library.store.units(row.id, ("operation", "webhook")), filter_)
    schemas = apis.library.store.units(row.id, ("schema",))
    return {
        "name": row.name,
        "version": overview.version,
        "kind": overview.kind,
        "operations": [_operation_json(unit) for unit in chosen if unit.kind == "operation"],
        "webhooks": [_operation_json(unit) for unit in chosen if unit.kind == "webhook"],
        "schemas": [unit.title for unit in schemas],
    }


def _operation_json(unit: UnitRow) -> dict[str, Any]:
    return {"method": unit.method, "path": unit.path, "summary": unit.title, "tags": list(tags_of(unit))}


def _api_json(api: Api) -> dict[str, Any]:
    return {
        "name": api.name,
        "version": api.overview.version,
        "kind": api.overview.kind,
        "title": api.overview.title,
        "operations": api.operation_count,
        "schemas": api.schema_count,
        "webhooks": api.webhook_count,
        "warnings": list(api.warnings),
        "source": api.source,
        "projects": list(api.projects),
    }


def _hit_line(hit: ApiHit) -> str:
    line = f"{hit.confidence:.2f}  {hit.api_name}  {hit.title}"
    return f"{line} {SEMANTIC_MATCH_MARK}" if hit.is_semantic_match else line


def _hit_json(hit: ApiHit) -> dict[str, Any]:
    return {
        "id": hit.id,
        "api": hit.api_name,
        "version": hit.api_version,
        "type": hit.type,
        "url": hit.citation,
        "section": hit.section,
        "title": hit.title,
        "score": round(hit.confidence, 4),
        "text": hit.text,
        **({"near_in_meaning": True} if hit.is_semantic_match else {}),
    }
