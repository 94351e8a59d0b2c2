"""`deltos docs …`: add, list, search, crawl, watch, recrawl, cancel and remove documentation sources."""

from __future__ import annotations

import math
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltos.budget import estimate_tokens
from deltos.cli.command import (
    add_group,
    add_limit,
    add_project,
    add_query,
    add_verb,
    batch_queries,
    number_in,
    opened_app,
    print_json,
)
from deltos.cli.looks import is_looked_at, progress_line
from deltos.cli.progress_bar import ProgressBar
from deltos.cli.terminal import redraw_line
from deltos.cli.wording import name_commands_in_notes
from deltos.config import Config
from deltos.domains.docs.library import NewSource
from deltos.domains.docs.render import (
    render_added,
    render_nothing,
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

_SHOWN_TOKENS = 25_000  # for people, who scroll: the hard limit of an answer
_MOST_RESULTS = 50
_FAILING = ("FAILED", "INTERRUPTED")
_POLL_SECONDS = 0.5
# A crawl that was just begun waits for its process to start; one that waits longer has none.
_START_SECONDS = 20.0
_READING_SECONDS = 20.0  # for people who wait: a server, or `crawl --read`, reads the rest


def add_commands(subparsers: Subparsers) -> None:
    """Put `docs` and its verbs under the `deltos` command."""
    verbs = add_group(subparsers, "docs", "documentation: websites, folders, installed packages")
    _add_adding(verbs)
    add_verb(verbs, "list", _opened(_list), "list the documentation sources")
    search = add_verb(verbs, "search", _opened(_search), "find passages that answer a question")
    add_query(search)
    search.add_argument("--source", default="", help="only this source (name or id)")
    search.add_argument("--version", default="", help="only sources of this version")
    add_limit(search, most=_MOST_RESULTS)
    search.add_argument("--batch", metavar="FILE", help='read {"id", "query"} lines from FILE, or - for standard input')
    add_project(search)
    status = add_verb(verbs, "status", _opened(_status), "tell how far the crawl of a source is")
    status.add_argument("source", nargs="?", default="", help="name or id; default: all")
    _add_version(status)
    status.add_argument("--follow", action="store_true", help="stay until the crawl is done")
    crawl = add_verb(verbs, "crawl", _opened(_crawl_waiting), "go on with a crawl that stopped, until it is done")
    crawl.add_argument("source", help="name or id")
    crawl.add_argument("--read", action="store_true", help="and until all passages are read for search by meaning")
    _add_version(crawl)
    _add_private(crawl)
    recrawl = add_verb(verbs, "recrawl", _opened(_recrawl), "bring a source up to date")
    recrawl.add_argument("source", help="name or id")
    _add_version(recrawl)
    recrawl.add_argument("--full", action="store_true", help="read everything again")
    _add_waiting(recrawl)
    for name, run, what in (
        ("cancel", _cancel, "stop the crawl of a source; what was searchable stays"),
        ("remove", _remove, "remove a source and all that is indexed of it"),
    ):
        verb = add_verb(verbs, name, _opened(run), what)
        verb.add_argument("source", help="name or id")
        _add_version(verb)


def _add_adding(verbs: Subparsers) -> None:
    add = add_verb(verbs, "add", _opened(_add), "add a source and index it in the background")
    add.add_argument(
        "url", help="address, git repository, path, pypi:NAME, npm:NAME, or deps: for all dependencies of the project"
    )
    add.add_argument("--name", default="", help="what to call it")
    add.add_argument("--version", default="", help="version that it documents")
    add.add_argument("--include", action="append", default=[], metavar="GLOB", help="take these addresses only")
    add.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="leave these addresses out")
    add.add_argument(
        "--max-pages",
        type=number_in(0, 100_000),
        default=0,
        help="most pages to read; default: 500 on a website, elsewhere all",
    )
    add.add_argument(
        "--max-depth", type=number_in(0, 1_000), default=0, help="most links away from the start; 0 is any"
    )
    add.add_argument("--auth", default="", metavar="NAME", help="variable DELTOS_AUTH_… with the login, or netrc")
    add.add_argument("--browser", action="store_true", help="render pages in the browser of this machine")
    add_project(add)
    _add_waiting(add)


def _add_version(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--version", default="", help="which of several versions; latest, all")


def _add_waiting(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--wait", action="store_true", help="stay until it is done")
    _add_private(verb)


def _add_private(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--allow-private-hosts",
        default="",
        metavar="LIST",
        help="hosts and networks outside the public internet that may be asked, comma-separated: wiki.corp,10.1.0.0/16",
    )


def _opened(run: Callable[[App, argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    def run_opened(arguments: argparse.Namespace) -> int:
        config = Config.from_environment()
        if named := getattr(arguments, "allow_private_hosts", ""):
            config = replace(config, private_hosts=PrivateHosts.parse(named))
        with opened_app(config) as app:
            return run(app, arguments)

    return run_opened


def _add(app: App, arguments: argparse.Namespace) -> int:
    root = Path(arguments.project).absolute()
    arguments.wait |= arguments.max_pages == 1  # a single page is there as soon as one could ask for it
    local = _local(arguments.url)
    added = app.domains.docs.library.add(
        NewSource(
            url=str(local.absolute()) if local else arguments.url,
            name=arguments.name,
            project_root=root,
            roots=(Path(root.anchor),),  # the user may add whatever the user can read
            version=arguments.version,
            include=tuple(arguments.include),
            exclude=tuple(arguments.exclude),
            max_pages=arguments.max_pages,
            max_depth=arguments.max_depth,
            auth=arguments.auth,
            browser=arguments.browser,
        )
    )
    code = _crawl(app, [source.id for source in added.sources], arguments)
    statuses = [app.domains.docs.library.status(source.id) for source in added.sources]
    if arguments.json:
        for status in statuses:
            print_json(_status_json(status))
        for failure in added.failures:
            print_json({"error": failure})
    elif arguments.wait and arguments.max_pages != 1:
        print(
            "\n".join(
                (*filter(None, [added.api_line]), *(_status_text(status) for status in statuses), *added.failures)
            )
        )
    else:
        ids = [source.id for source in added.sources] if arguments.max_pages == 1 else []
        read = app.domains.docs.library.first_page(ids[0]) if len(ids) == 1 else None
        print(name_commands_in_notes(render_added(added, statuses, project_root=Path.cwd(), read=read)))
    return code


def _local(text: str) -> Path | None:
    """The file or folder of that name, if there is one."""
    try:
        path = given_path(text)
        return path if path.exists() else None
    except (OSError, BadArgument):  # an address, say
        return None


def _crawl(app: App, source_ids: list[str], arguments: argparse.Namespace) -> int:
    """Crawl here when asked to wait, else in a process of its own that outlives this one; or have workers do it."""
    if app.config.leaves_indexing_to_workers:
        notes = [app.domains.docs.library.crawls.start(source_id) for source_id in source_ids]
        print("\n".join(notes), file=sys.stderr)
        if not arguments.wait:
            return 0
        return _exit_code([_watch(app.domains.docs, source_id).state for source_id in source_ids])
    if not arguments.wait:
        for source_id in source_ids:
            _crawl_detached(app.config.home, source_id, allow_private_hosts=arguments.allow_private_hosts)
        return 0
    code = _exit_code([_crawl_here(app.domains.docs, source_id).state for source_id in source_ids])
    _read_passages(app.domains.docs, _READING_SECONDS)
    return code


def _crawl_detached(home: Path, source_id: str, *, allow_private_hosts: str) -> None:
    words = ["docs", "crawl", source_id, "--json", "--read"]
    if allow_private_hosts:
        words.append(f"--allow-private-hosts={allow_private_hosts}")
    # It runs in another folder, where a relative DELTOS_HOME would mean another one.
    start_detached("deltos.cli.main", *words, variables={"DELTOS_HOME": str(home)})


def _crawl_waiting(app: App, arguments: argparse.Namespace) -> int:
    docs = app.domains.docs
    meant = docs.library.meant(arguments.source, arguments.version)
    code = _show((_crawl_here(docs, source.id) for source in meant), arguments)
    if docs.library.crawls.jobs is None:
        if arguments.read:
            docs.library.crawls.keep_up()  # of what was crawled before, too
        _read_passages(docs, math.inf if arguments.read else _READING_SECONDS)
    return code


def _read_passages(docs: Docs, seconds: float) -> None:
    """Wait for the model to read passages, no longer than that; tells where some are left."""
    bar, until = ProgressBar(), time.monotonic() + seconds
    before, _ = docs.library.passages_read()
    with _terminable():
        while not docs.library.crawls.wait_for_meaning(_POLL_SECONDS) and time.monotonic() < until:
            read, total = docs.library.passages_read()
            bar.report(read - before, total - before, "passages read")
    bar.clear()
    if note := docs.library.reading_note():
        print(f"{note}; a server goes on with it, or `deltos docs crawl NAME --read`", file=sys.stderr)


def _crawl_here(docs: Docs, source_id: str) -> SourceStatus:
    """Crawl a source until it is done, in this process unless another is at it; shows progress."""
    if docs.library.crawls.jobs is not None:
        print(docs.library.crawls.start(source_id), file=sys.stderr)
        return _watch(docs, source_id)
    line = _Line()
    try:
        with _terminable():
            while (status := docs.library.status(source_id)).state in ("CRAWLING", "WAITING"):
                if not docs.library.crawls.run(source_id, lambda: line.show(docs.library.status(source_id))):
                    line.show(status)
                    time.sleep(_POLL_SECONDS)  # another process crawls: look at its progress now and then
    except KeyboardInterrupt:
        line.clear()
        name = docs.library.status(source_id).source.name
        print(f"\n{name} is not read to its end: `deltos docs crawl {name}` goes on with it.", file=sys.stderr)
        raise
    line.clear()
    return status


def _watch(docs: Docs, source_id: str) -> SourceStatus:
    """Show the crawl of a source until it is done, or no process starts it."""
    line = _Line()
    seen_running = time.monotonic()
    while (status := docs.library.status(source_id)).state in ("CRAWLING", "WAITING"):
        if status.state == "CRAWLING":
            seen_running = time.monotonic()
        elif time.monotonic() - seen_running >= _START_SECONDS:
            name = status.source.name
            print(f"No process crawls {name}; `deltos docs crawl {name}` goes on with it.", file=sys.stderr)
            break
        line.show(status)
        time.sleep(_POLL_SECONDS)
    line.clear()
    return status


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends a crawl in order, as Ctrl-C does: after a shutdown of the system it must not seem to have died."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Line:
    """One line of progress on a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        self._visible = is_looked_at(sys.stderr)
        self._shown_at = 0.0

    def show(self, status: SourceStatus) -> None:
        now = time.monotonic()
        if self._visible and now - self._shown_at > _POLL_SECONDS:
            self._shown_at = now
            done = status.pages_done + status.pages_unchanged
            told = (
                f"{status.source.name}: {counted(done, 'page')} done, {status.pages_queued} queued,"
                f" {len(status.failures)} failed, {status.rate:.1f}/s"
            )
            redraw_line(progress_line(done, done + status.pages_queued, told))

    def clear(self) -> None:
        if self._visible:
            redraw_line("")


def _list(app: App, arguments: argparse.Namespace) -> int:
    statuses = app.domains.docs.library.statuses()
    if arguments.json:
        for status in statuses:
            print_json(_status_json(status))
    else:
        apis = [f"- {line}" for line in app.domains.docs.apis.names().values()]
        notes = filter(None, [app.domains.docs.library.reading_note()])
        told = render_sources(statuses, [*apis, *notes], project_root=Path.cwd(), token_budget=_SHOWN_TOKENS).text
        print(name_commands_in_notes(told))
    return 0


def _search(app: App, arguments: argparse.Namespace) -> int:
    library, root = app.domains.docs.library, Path(arguments.project).absolute()
    source = library.read_installed(arguments.source, root, arguments.version)
    without = frozenset(foreign.id for foreign in library.foreign_packages([root]))
    if arguments.batch:
        for row in batch_queries(arguments.batch):
            found = app.domains.docs.search.search(_question(arguments, source, row.query, without))
            print_json({"id": row.id, "results": [_passage_json(passage) for passage in found.passages]})
        return 0
    if not arguments.query.strip():
        raise BadArgument("What should be searched for?", hint="deltos docs search 'how to set a timeout'")
    question = _question(arguments, source, arguments.query, without)
    found = app.domains.docs.search.search(question)
    if found.passages and not arguments.json:
        for note in found.full_note.splitlines():
            print(name_commands_in_notes(note))
    for number, passage in enumerate(found.passages, start=1):
        print_json(_passage_json(passage)) if arguments.json else print(render_passage(number, passage, Path.cwd()))
    if found.searched is not None and not arguments.json:
        apis = app.domains.docs.search.apis_of(question)
        statuses, note = library.statuses(), found.full_note
        told = render_nothing(
            arguments.query, found.searched, statuses, apis, note=note, without=without, asked=found.asked
        )
        print(name_commands_in_notes(told))
    return 0 if found.passages else 1


def _question(arguments: argparse.Namespace, source: str, query: str, without: frozenset[str]) -> DocsRequest:
    return DocsRequest(query, arguments.limit, source, arguments.version, without=without)


def _status(app: App, arguments: argparse.Namespace) -> int:
    library = app.domains.docs.library
    if api := app.domains.docs.api_named(arguments.source):
        told = f"{app.domains.docs.apis.names()[api]}. It is read at once, not crawled."
        print_json({"name": api, "kind": "api", "status": "READY"}) if arguments.json else print(told)
        return 0
    meant = library.meant(arguments.source, arguments.version) if arguments.source else library.sources()
    ids = [source.id for source in meant]
    if not ids and not arguments.json:
        nothing = render_sources((), (), project_root=Path.cwd(), token_budget=_SHOWN_TOKENS).text
        print(name_commands_in_notes(nothing))
    if not arguments.follow:
        return _show(map(library.status, ids), arguments)
    return _show((_watch(app.domains.docs, source_id) for source_id in ids), arguments, failing=(*_FAILING, "WAITING"))


def _show(
    statuses: Iterable[SourceStatus], arguments: argparse.Namespace, *, failing: tuple[str, ...] = _FAILING
) -> int:
    """Print each status as soon as it is known; the exit code."""
    states = []
    for status in statuses:
        states.append(status.state)
        print_json(_status_json(status)) if arguments.json else print(_status_text(status))
    return _exit_code(states, failing)


def _exit_code(states: list[str], failing: tuple[str, ...] = _FAILING) -> int:
    return int(not set(failing).isdisjoint(states))


def _recrawl(app: App, arguments: argparse.Namespace) -> int:
    library = app.domains.docs.library
    if api := app.domains.docs.api_named(arguments.source):
        told = app.domains.docs.apis.refresh(api)
        print_json({"refreshed": api, "changes": told}) if arguments.json else print(told)
        return 0
    meant = library.meant(arguments.source, arguments.version)
    ids = [library.recrawl(source.id, full=arguments.full).source.id for source in meant]
    code = _crawl(app, ids, arguments)
    for status in map(library.status, ids):
        print_json(_status_json(status)) if arguments.json else print(_status_text(status))
    return code


def _cancel(app: App, arguments: argparse.Namespace) -> int:
    library = app.domains.docs.library
    cancelled = [library.cancel(each.id) for each in library.meant(arguments.source, arguments.version)]
    if arguments.json:
        print_json({"cancelled": any(cancelled)})
    else:
        print("Cancelled." if any(cancelled) else "No crawl of it is under way.")
    return 0 if any(cancelled) else 1


def _remove(app: App, arguments: argparse.Namespace) -> int:
    library = app.domains.docs.library
    if api := app.domains.docs.api_named(arguments.source):
        gone_api = app.domains.docs.apis.remove(api)
        print_json({"removed": api}) if arguments.json else print(gone_api)
        return 0
    removed = library.remove(arguments.source, arguments.version)
    if arguments.json:
        for gone in removed:
            told = {"removed": gone.source.name, "version": gone.source.version}
            print_json({**told, "pages": gone.pages, "chunks": gone.chunks})
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
        **({"near_in_meaning": True} if passage.is_near else {}),
    }


def _status_text(status: SourceStatus) -> str:
    told = render_status(status, project_root=Path.cwd(), token_budget=_SHOWN_TOKENS).text
    return name_commands_in_notes(told)


def _status_json(status: SourceStatus) -> dict[str, Any]:
    return {
        "id": status.source.id,
        "name": status.source.name,
        "url": status.source.url,
        "kind": status.source.kind,
        "version": status.source.version,
        "status": status.state,
        "reason": status.reason,
        "reading_when_died": list(status.reading_when_died),
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
