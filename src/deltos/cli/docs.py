"""`deltos docs …`: add, list, search, crawl and remove documentation sources."""

from __future__ import annotations

import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltos.budget import estimate_tokens
from deltos.cli.command import (
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
from deltos.cli.style import is_interactive, progress_line
from deltos.cli.terminal import redraw_line
from deltos.config import Config
from deltos.domains.docs.library import NewSource
from deltos.domains.docs.render import (
    format_time_left,
    render_added,
    render_nothing,
    render_other_projects,
    render_passage,
    render_removed,
    render_sources,
    render_status,
)
from deltos.domains.docs.search import DocsRequest
from deltos.errors import BadArgument
from deltos.files import given_path
from deltos.isolated.launch import start_detached
from deltos.private_hosts import PrivateHosts
from deltos.text.counts import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

    from deltos.app import App
    from deltos.cli.command import Subparsers
    from deltos.domains.docs.domain import Docs
    from deltos.domains.docs.model import Passage, SourceStatus

MAX_TOKENS = 25_000  # token budget of an answer; high, because terminal users can scroll
MAX_RESULTS = 50
_FAILED_STATES = ("FAILED",)
_POLL_SECONDS = 0.5
# Interval of progress lines if stderr is not a terminal.
_LOG_SECONDS = 10.0
# Maximum wait for the start of a crawl. If it takes longer, no process is running the crawl.
_START_TIMEOUT_SECONDS = 20.0


def add_commands(subparsers: Subparsers) -> None:
    """Add the `docs` command and all subcommands."""
    verbs = add_command_group(subparsers, "docs")
    _add_add_command(verbs)
    add_project(add_verb(verbs, "list", _run_with_app(_list), "list the documentation sources"), takes_all=True)
    search = add_verb(verbs, "search", _run_with_app(_search), "search the documentation")
    add_query(search)
    search.add_argument("--source", default="", help="search only this source (name or id)")
    search.add_argument("--version", default="", help="search only sources of this version")
    add_limit(search, maximum=MAX_RESULTS)
    search.add_argument(
        "--batch", metavar="FILE", help='read {"id", "query"} JSON lines from FILE; - for standard input'
    )
    add_project(search, takes_all=True)
    status = add_verb(verbs, "status", _run_with_app(_status), "show the progress of crawls")
    status.add_argument("source", nargs="?", default="", help="name or id of a source; default: all sources")
    _add_version(status)
    status.add_argument("--follow", action="store_true", help="wait until the crawl is done")
    crawl = add_verb(
        verbs, "crawl", _run_with_app(_crawl_command), "resume a crawl that stopped, and wait until it is done"
    )
    crawl.add_argument("source", help="name or id of the source")
    _add_version(crawl)
    _add_private(crawl)
    recrawl = add_verb(verbs, "recrawl", _run_with_app(_recrawl), "update a source")
    recrawl.add_argument("source", help="name or id of the source")
    _add_version(recrawl)
    recrawl.add_argument("--full", action="store_true", help="fetch unchanged pages again")
    _add_wait_options(recrawl)
    exported = add_verb(
        verbs, "export", _run_with_app(_export), "write an indexed source to a file for others to import"
    )
    exported.add_argument("source", help="name or id of the source")
    exported.add_argument("file", type=Path, help="file to write, for example guide.deltos-docs")
    _add_version(exported)
    imported = add_verb(
        verbs, "import", _run_with_app(_import), "add a source from an exported file, without crawling it"
    )
    imported.add_argument("file", type=Path, help="file written by deltos docs export")
    imported.add_argument("--name", default="", help="name of the source; default: its name in the file")
    imported.add_argument("--shared", action="store_true", help="make it available to all projects")
    add_project(imported)
    for name, run, what in (
        ("cancel", _cancel, "stop the crawl of a source; indexed pages are kept"),
        ("remove", _remove, "remove a source and its index"),
    ):
        verb = add_verb(verbs, name, _run_with_app(run), what)
        verb.add_argument("source", help="name or id of the source")
        _add_version(verb)


def _add_add_command(verbs: Subparsers) -> None:
    add = add_verb(verbs, "add", _run_with_app(_add), "add a source and index it in the background")
    add.add_argument(
        "url", help="URL, git repository, path, pypi:NAME, npm:NAME, or deps: for all dependencies of the project"
    )
    add.add_argument("--name", default="", help="name of the source")
    add.add_argument("--version", default="", help="documented version")
    add.add_argument("--include", action="append", default=[], metavar="GLOB", help="crawl only URLs that match")
    add.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="skip URLs that match")
    add.add_argument(
        "--max-pages",
        type=integer_range(0, 100_000),
        default=0,
        help="maximum number of pages; default: 500 for websites, unlimited for other sources",
    )
    add.add_argument(
        "--max-depth",
        type=integer_range(0, 1_000),
        default=0,
        help="maximum number of links from the start page; 0: unlimited",
    )
    add.add_argument("--auth", default="", metavar="NAME", help="DELTOS_AUTH_… variable with the login, or netrc")
    add.add_argument(
        "--shared", action="store_true", help="make it available to all projects, even if it is already indexed for one"
    )
    add_project(add)
    _add_wait_options(add)


def _add_version(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--version", default="", help="version of the source, or latest, or all")


def _add_wait_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--wait", action="store_true", help="wait until the crawl and embedding are done")
    _add_private(verb)


def _add_private(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--allow-private-hosts",
        default="",
        metavar="LIST",
        help="private hosts and networks that may be crawled, comma-separated: wiki.corp,10.1.0.0/16",
    )


def _run_with_app(run: Callable[[App, argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    def run_with_app(arguments: argparse.Namespace) -> int:
        config = Config.from_environment()
        if named := getattr(arguments, "allow_private_hosts", ""):
            config = replace(config, private_hosts=PrivateHosts.parse(named))
        with open_app(config) as app:
            return run(app, arguments)

    return run_with_app


def _add(app: App, arguments: argparse.Namespace) -> int:
    root = Path(arguments.project).absolute()
    local = _find_local_path(arguments.url)
    added = app.domains.docs.library.add(
        NewSource(
            url=str(local.absolute()) if local else arguments.url,
            name=arguments.name,
            project_root=root,
            roots=(Path(root.anchor),),  # the user may add every readable folder
            version=arguments.version,
            include=tuple(arguments.include),
            exclude=tuple(arguments.exclude),
            max_pages=arguments.max_pages,
            max_depth=arguments.max_depth,
            auth=arguments.auth,
            shared=arguments.shared,
        )
    )
    code = _crawl(app, [source.id for source in added.sources], arguments)
    statuses = [app.domains.docs.library.status(source.id) for source in added.sources]
    if arguments.json:
        for status in (*statuses, *(app.domains.docs.library.status(source.id) for source in added.shared_sources)):
            print_json(_status_json(status))
        for failure in added.failures:
            print_json({"error": failure})
    elif arguments.wait and not added.shared_sources:
        print(
            "\n".join(
                (*filter(None, [added.api_message]), *(_status_text(status) for status in statuses), *added.failures)
            )
        )
    else:
        print(replace_tool_names_in_answer(render_added(added, statuses, project_root=Path.cwd())))
    return code


def _find_local_path(text: str) -> Path | None:
    """Return `text` as the path of an existing file or folder, or None."""
    try:
        path = given_path(text)
        return path if path.exists() else None
    except (OSError, BadArgument):  # `text` is not a path, for example a URL
        return None


def _crawl(app: App, source_ids: list[str], arguments: argparse.Namespace) -> int:
    """Crawl in this process if the user waits, or in a detached process, or queue the crawl for workers."""
    if app.config.leaves_indexing_to_workers:
        notes = [app.domains.docs.library.crawls.start(source_id) for source_id in source_ids]
        print("\n".join(notes), file=sys.stderr)
        if not arguments.wait:
            return 0
        return _exit_code([_watch_crawl(app.domains.docs, source_id).state for source_id in source_ids])
    if not arguments.wait:
        for source_id in source_ids:
            _crawl_detached(app.config.home, source_id, allow_private_hosts=arguments.allow_private_hosts)
        return 0
    return _exit_code([_crawl_in_foreground(app.domains.docs, source_id).state for source_id in source_ids])


def _crawl_detached(home: Path, source_id: str, *, allow_private_hosts: str) -> None:
    words = ["docs", "crawl", source_id, "--json"]
    if allow_private_hosts:
        words.append(f"--allow-private-hosts={allow_private_hosts}")
    # The detached process runs in another folder, so a relative DELTOS_HOME must be made absolute.
    start_detached("deltos.cli.main", *words, variables={"DELTOS_HOME": str(home)})


def _crawl_command(app: App, arguments: argparse.Namespace) -> int:
    docs = app.domains.docs
    sources = docs.library.matching_sources(arguments.source, arguments.version)
    return _print_statuses((_crawl_in_foreground(docs, source.id) for source in sources), arguments)


def _crawl_in_foreground(docs: Docs, source_id: str) -> SourceStatus:
    """Crawl a source in this process, or wait for the process that is crawling it, and show the progress."""
    if docs.library.crawls.jobs is not None:
        print(docs.library.crawls.start(source_id), file=sys.stderr)
        return _watch_crawl(docs, source_id)
    line = _ProgressLine()
    try:
        with _stop_on_sigterm():
            while (status := docs.library.status(source_id)).state in ("CRAWLING", "WAITING"):
                if not docs.library.crawls.run(source_id, lambda: line.show(docs.library.status(source_id))):
                    line.show(status)
                    time.sleep(_POLL_SECONDS)  # another process crawls the source: poll its progress
    except KeyboardInterrupt:
        line.clear()
        name = docs.library.status(source_id).source.name
        print(f"\nThe crawl of {name} is incomplete. `deltos docs crawl {name}` resumes it.", file=sys.stderr)
        raise
    line.clear()
    return status


def _watch_crawl(docs: Docs, source_id: str) -> SourceStatus:
    """Show the progress of a crawl until the crawl is done or the process has ended."""
    line = _ProgressLine()
    seen_running = time.monotonic()
    while (status := docs.library.status(source_id)).state in ("CRAWLING", "WAITING"):
        if status.state == "CRAWLING":
            seen_running = time.monotonic()
        elif time.monotonic() - seen_running >= _START_TIMEOUT_SECONDS:
            name = status.source.name
            print(f"No process is crawling {name}. `deltos docs crawl {name}` resumes it.", file=sys.stderr)
            break
        line.show(status)
        time.sleep(_POLL_SECONDS)
    line.clear()
    return status


@contextmanager
def _stop_on_sigterm() -> Iterator[None]:
    """Convert SIGTERM to SystemExit, so that a crawl stops cleanly when the system shuts down."""

    def raise_system_exit(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, raise_system_exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _ProgressLine:
    """Progress of a crawl: a redrawn line on a terminal, or a new line on stderr every ten seconds."""

    def __init__(self) -> None:
        self._is_terminal = is_interactive(sys.stderr)
        self._interval = _POLL_SECONDS if self._is_terminal else _LOG_SECONDS
        self._shown_at = 0.0 if self._is_terminal else time.monotonic()

    def show(self, status: SourceStatus) -> None:
        now = time.monotonic()
        if now - self._shown_at < self._interval:
            return
        self._shown_at = now
        done = status.pages_done + status.pages_unchanged
        text = (
            f"{status.source.name}: {counted(done, 'page')} done, {status.pages_queued} queued,"
            f" {len(status.failures)} failed, {status.rate:.1f}/s{format_time_left(status.seconds_left)}"
        )
        if self._is_terminal:
            redraw_line(progress_line(done, done + status.pages_queued, text))
        else:
            print(text, file=sys.stderr)

    def clear(self) -> None:
        if self._is_terminal:
            redraw_line("")


def _list(app: App, arguments: argparse.Namespace) -> int:
    library, roots = app.domains.docs.library, project_roots(arguments.project)
    if arguments.json:
        for status in library.statuses():
            print_json(_status_json(status))
    else:
        statuses = library.statuses({source.id for source in library.sources_of_other_projects(roots)})
        apis = [f"- {line}" for line in app.domains.docs.apis.description_lines(roots).values()]
        others = render_other_projects(app.domains.docs.names_of_other_projects(roots))
        notes = filter(None, [others])
        text = render_sources(statuses, [*apis, *notes], project_root=Path.cwd(), token_budget=MAX_TOKENS).text
        print(replace_tool_names_in_answer(text))
    return 0


def _search(app: App, arguments: argparse.Namespace) -> int:
    library, root = app.domains.docs.library, next(iter(project_roots(arguments.project)), Path.cwd())
    source = library.add_installed_package(arguments.source, root, arguments.version)
    if arguments.batch:
        for row in batch_queries(arguments.batch):
            found = app.domains.docs.search.search(_build_question(arguments, source, row.query))
            print_json({"id": row.id, "results": [_passage_json(passage) for passage in found.passages]})
        return 0
    if not arguments.query.strip():
        raise BadArgument("No query is given", hint="Try: deltos docs search 'how to set a timeout'")
    question = _build_question(arguments, source, arguments.query)
    found = app.domains.docs.search.search(question)
    if found.passages and not arguments.json:
        for note in found.full_note.splitlines():
            print(replace_tool_names_in_answer(note))
    for number, passage in enumerate(found.passages, start=1):
        print_json(_passage_json(passage)) if arguments.json else print(render_passage(number, passage, Path.cwd()))
    if found.searched is not None and not arguments.json:
        apis = app.domains.docs.search.searched_apis(question)
        statuses, note = library.statuses(found.excluded_ids), found.full_note
        text = render_nothing(
            arguments.query, found.searched, statuses, apis, note=note, searched_ids=found.searched_ids
        )
        print(replace_tool_names_in_answer(text))
    return 0 if found.passages else 1


def _build_question(arguments: argparse.Namespace, source: str, query: str) -> DocsRequest:
    return DocsRequest(query, arguments.limit, source, arguments.version, roots=project_roots(arguments.project))


def _status(app: App, arguments: argparse.Namespace) -> int:
    library = app.domains.docs.library
    if api := app.domains.docs.find_api_name(arguments.source):
        text = f"{app.domains.docs.apis.description_lines()[api]}. API descriptions are indexed directly, not crawled."
        print_json({"name": api, "kind": "api", "status": "READY"}) if arguments.json else print(text)
        return 0
    sources = library.matching_sources(arguments.source, arguments.version) if arguments.source else library.sources()
    ids = [source.id for source in sources]
    if not ids and not arguments.json:
        nothing = render_sources((), (), project_root=Path.cwd(), token_budget=MAX_TOKENS).text
        print(replace_tool_names_in_answer(nothing))
    if not arguments.follow:
        return _print_statuses(map(library.status, ids), arguments)
    return _print_statuses(
        (_watch_crawl(app.domains.docs, source_id) for source_id in ids),
        arguments,
        failed_states=(*_FAILED_STATES, "WAITING"),
    )


def _print_statuses(
    statuses: Iterable[SourceStatus], arguments: argparse.Namespace, *, failed_states: tuple[str, ...] = _FAILED_STATES
) -> int:
    """Print the status of each source as soon as it is available, and return the exit code."""
    states = []
    for status in statuses:
        states.append(status.state)
        print_json(_status_json(status)) if arguments.json else print(_status_text(status))
    return _exit_code(states, failed_states)


def _exit_code(states: list[str], failed_states: tuple[str, ...] = _FAILED_STATES) -> int:
    return int(not set(failed_states).isdisjoint(states))


def _recrawl(app: App, arguments: argparse.Namespace) -> int:
    library = app.domains.docs.library
    if api := app.domains.docs.find_api_name(arguments.source):
        text = app.domains.docs.apis.refresh(api)
        print_json({"refreshed": api, "changes": text}) if arguments.json else print(text)
        return 0
    sources = library.matching_sources(arguments.source, arguments.version)
    ids = [library.recrawl(source.id, full=arguments.full).source.id for source in sources]
    code = _crawl(app, ids, arguments)
    for status in map(library.status, ids):
        print_json(_status_json(status)) if arguments.json else print(_status_text(status))
    return code


def _cancel(app: App, arguments: argparse.Namespace) -> int:
    library = app.domains.docs.library
    cancelled = [library.cancel(each.id) for each in library.matching_sources(arguments.source, arguments.version)]
    if arguments.json:
        print_json({"cancelled": any(cancelled)})
    else:
        print("Cancelled." if any(cancelled) else "No crawl of this source is running.")
    return 0 if any(cancelled) else 1


def _export(app: App, arguments: argparse.Namespace) -> int:
    data = app.domains.docs.library.export(arguments.source, arguments.version)
    arguments.file.write_bytes(data)
    if arguments.json:
        print_json({"exported": arguments.source, "file": str(arguments.file), "bytes": len(data)})
    else:
        print(f"Exported {arguments.source} to {arguments.file} ({len(data):,} bytes).")
    return 0


def _import(app: App, arguments: argparse.Namespace) -> int:
    library, root = app.domains.docs.library, Path(arguments.project).absolute()
    file = str(arguments.file.absolute())
    request = NewSource(file, arguments.name, root, (Path(root.anchor),), shared=arguments.shared)
    source = library.import_file(request)
    return _print_statuses([library.status(source.id)], arguments)


def _remove(app: App, arguments: argparse.Namespace) -> int:
    library = app.domains.docs.library
    if api := app.domains.docs.find_api_name(arguments.source):
        gone_api = app.domains.docs.apis.remove(api)
        print_json({"removed": api}) if arguments.json else print(gone_api)
        return 0
    removed = library.remove(arguments.source, arguments.version)
    if arguments.json:
        for gone in removed:
            text = {"removed": gone.source.name, "version": gone.source.version}
            print_json({**text, "pages": gone.pages, "chunks": gone.chunks})
    else:
        left = [known for known in library.sources() if known.name == removed[0].source.name]
        print(render_removed(removed, left, project_root=Path.cwd()))
    return 0


def _passage_json(passage: Passage) -> dict[str, Any]:
    return {
        "url": passage.url,
        "anchors": list(passage.anchors),
        "section": passage.section,
        "source": passage.source,
        "version": passage.version,
        "tokens": estimate_tokens(render_passage(1, passage, Path.cwd())),
        "score": round(passage.confidence, 4),
        "text": passage.text,
        **({"near_in_meaning": True} if passage.is_semantic_match else {}),
    }


def _status_text(status: SourceStatus) -> str:
    text = render_status(status, project_root=Path.cwd(), token_budget=MAX_TOKENS).text
    return replace_tool_names_in_answer(text)


def _status_json(status: SourceStatus) -> dict[str, Any]:
    return {
        "id": status.source.id,
        "name": status.source.name,
        "url": status.source.url,
        "kind": status.source.kind,
        "version": status.source.version,
        "projects": list(status.source.projects),
        "status": status.state,
        "reason": status.reason,
        "pages": status.pages,
        "chunks": status.chunks,
        "done": status.pages_done,
        "queued": status.pages_queued,
        "unchanged": status.pages_unchanged,
        "skipped": status.pages_skipped,
        "skipped_because": [
            {"reason": each.reason.partition("\n")[0], "count": each.count, "first": each.first_url}
            for each in status.skipped
        ],
        "failed": [{"url": address.url, "reason": address.reason} for address in status.failures],
        "rate": round(status.rate, 2),
        "last_crawled": status.source.crawled_at,
    }
