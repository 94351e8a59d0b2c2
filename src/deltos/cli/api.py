"""`deltos api …`: add, list, show, search, refresh and remove API descriptions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltos.cli.command import Subparsers, add_group, add_limit, add_query, add_verb, number_in, opened_app, print_json
from deltos.cli.progress_bar import ProgressBar
from deltos.cli.wording import name_commands_in_notes
from deltos.domains.apis.endpoints import Filter, select, show_endpoints
from deltos.domains.apis.library import api_of, tags_of
from deltos.domains.apis.render import render_api, render_changes
from deltos.domains.apis.search import KINDS_OF_TYPE
from deltos.domains.apis.tools import render_list
from deltos.errors import BadArgument, SourceError
from deltos.federation.descriptions import check_refreshable
from deltos.model import NEAR_MARK, WEAK_API_CONFIDENCE, WEAK_NOTE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

    from deltos.domains.apis.apis import Apis
    from deltos.domains.apis.index import UnreadDocument
    from deltos.domains.apis.model import Api, ApiChanges, ApiHit
    from deltos.store.apis import UnitRow


_SHOWN_TOKENS = 25_000  # for people, who scroll: the hard limit of an answer
_MOST_RESULTS = 50


def add_commands(subparsers: Subparsers) -> None:
    """Put `api` and its verbs under the `deltos` command."""
    verbs = add_group(subparsers, "api", "API descriptions: OpenAPI, GraphQL, AsyncAPI, proto, Postman")
    add = _verb(verbs, "add", _add, "index an API description")
    add.add_argument("location", help="a file, a folder, an address or a GraphQL endpoint")
    add.add_argument("--name", default="", help="what to call it; default: its title")
    add.add_argument("--root", default="", help="folder that references may not leave; default: the location's")
    _verb(verbs, "list", _list, "list the indexed APIs")
    show = _verb(verbs, "show", _show, "show an API's operations")
    show.add_argument("name")
    for option in ("--tag", "--path", "--method"):
        show.add_argument(option, default="")
    show.add_argument("--page", type=number_in(1), default=1, help="which page; default: 1")
    search = _verb(verbs, "search", _search, "find operations and schemas")
    add_query(search)
    search.add_argument("--api", default="", help="only this API")
    search.add_argument("--type", action="append", default=[], dest="types", choices=tuple(KINDS_OF_TYPE))
    add_limit(search, most=_MOST_RESULTS)
    search.add_argument("--batch", metavar="FILE", help='read {"id", "query"} lines from FILE, or - for standard input')
    add_verb(verbs, "refresh", _refresh, "read an API again and tell what changed").add_argument("name")
    _verb(verbs, "remove", _remove, "forget an API").add_argument("name")


def _verb(
    verbs: Subparsers,
    name: str,
    run: Callable[[Apis, argparse.Namespace], int],
    what: str,
) -> argparse.ArgumentParser:
    def run_opened(args: argparse.Namespace) -> int:
        with opened_app() as app:
            return run(app.domains.apis, args)

    return add_verb(verbs, name, run_opened, what)


def _add(apis: Apis, args: argparse.Namespace) -> int:
    bar = ProgressBar()
    root = Path(args.root) if args.root else None
    try:
        report = apis.indexer.add(args.location, args.name, root=root, progress=bar)
        apis.searcher.read(bar)
    finally:
        bar.clear()
    for api in report.apis:
        print_json(_api_json(api)) if args.json else print(render_api(api, ()))
    _tell_failures(report.failures, as_json=args.json)
    return 0


def _tell_failures(failures: Iterable[UnreadDocument], *, as_json: bool) -> None:
    for failure in failures:
        if as_json:
            print_json({"document": failure.document, "error": failure.reason})
        else:
            print(f"not read: {failure.document}: {failure.reason}", file=sys.stderr)


def _freshen(apis: Apis, args: argparse.Namespace, name: str = "") -> None:
    """Read what changed on disk; people are told what an answer may lack."""
    notes = apis.freshen(name)
    if not args.json:
        for note in notes:
            print(name_commands_in_notes(note))


def _list(apis: Apis, args: argparse.Namespace) -> int:
    _freshen(apis, args)
    if args.json:
        for api in apis.library.apis():
            unread = [{"document": row.document, "error": row.reason} for row in apis.library.unread(api.source)]
            print_json(_api_json(api) | {"not_read": unread})
    else:
        print(name_commands_in_notes(render_list(apis.library, _SHOWN_TOKENS).text))
    return 0


def _show(apis: Apis, args: argparse.Namespace) -> int:
    wanted = Filter(args.tag, args.path, args.method)
    _freshen(apis, args, args.name)
    if args.json:
        print_json(_operations_json(apis, args.name, wanted))
    else:
        shown = show_endpoints(
            apis.library, args.name, wanted, page=args.page, token_budget=_SHOWN_TOKENS, project_root=Path.cwd()
        )
        print(name_commands_in_notes(shown.text))
    return 0


def _search(apis: Apis, args: argparse.Namespace) -> int:
    if args.batch:
        apis.freshen(args.api)
        for question_id, query in _questions(args.batch):
            found = apis.searcher.search(query, api_name=args.api, types=args.types, limit=args.limit)
            print_json({"id": question_id, "results": [_hit_json(hit) for hit in found]})
        return 0
    if not args.query:
        raise BadArgument("What should be searched for?", hint="deltos api search 'create a refund' --api stripe")
    _freshen(apis, args, args.api)
    found = apis.searcher.search(args.query, api_name=args.api, types=args.types, limit=args.limit)
    if found and found[0].confidence < WEAK_API_CONFIDENCE and not args.json:
        print(WEAK_NOTE.format(found[0].confidence))
    for hit in found:
        print_json(_hit_json(hit)) if args.json else print(_hit_line(hit))
    if named := () if args.api else apis.library.named_in(args.query).names:
        print(f"Only {', '.join(named)} was asked, as the question names it; --api NAME asks another.", file=sys.stderr)
    if not found and not args.json:
        searched = apis.searcher.count_searchable(args.api)
        print(f"No results found for query: {args.query} (searched {searched} operations, schemas and tags)")
    return 0 if found else 1


def _refresh(args: argparse.Namespace) -> int:
    with opened_app() as app:
        check_refreshable(app.domains, args.name)
        report = app.domains.apis.indexer.refresh(args.name)
    for changes in report.changes:
        print_json(_changes_json(changes)) if args.json else print(render_changes(changes))
    _tell_failures(report.failures, as_json=args.json)
    return 0


def _remove(apis: Apis, args: argparse.Namespace) -> int:
    removed = apis.indexer.remove(args.name)
    if args.json:
        print_json({"removed": list(removed)})
    else:
        print(f"Removed {', '.join(removed)}.")
    return 0


def _questions(batch: str) -> Iterator[tuple[str, str]]:
    try:
        lines = sys.stdin.read() if batch == "-" else Path(batch).read_text("utf-8")
    except OSError as exc:
        raise SourceError(f"Cannot read {batch}: {exc.strerror}") from exc
    for number, line in enumerate(lines.splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
                yield row["id"], row["query"]
            except (ValueError, KeyError, TypeError):
                raise BadArgument(f'Line {number} of the batch is not {{"id", "query"}}') from None


def _operations_json(apis: Apis, name: str, wanted: Filter) -> dict[str, Any]:
    row = apis.library.row(name)
    overview = api_of(row).overview
    chosen = select(apis.library.store.units(row.id, ("operation", "webhook")), wanted)
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
    }


def _hit_line(hit: ApiHit) -> str:
    line = f"{hit.confidence:.2f}  {hit.api_name}  {hit.title}"
    return f"{line} {NEAR_MARK}" if hit.is_near else line


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
        **({"near_in_meaning": True} if hit.is_near else {}),
    }


def _changes_json(changes: ApiChanges) -> dict[str, Any]:
    return {
        "api": changes.api_name,
        "old_version": changes.old_version,
        "new_version": changes.new_version,
        "changes": [
            {"operation": change.key, "what": change.what, "breaking": list(change.breaking)}
            for change in changes.changes
        ],
        "schemas_added": list(changes.schemas_added),
        "schemas_removed": list(changes.schemas_removed),
        "note": changes.note,
    }
