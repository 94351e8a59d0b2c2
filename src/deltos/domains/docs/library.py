"""What can be done with documentation sources: add, list, recrawl, cancel, remove, and say where each one stands."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import is_confined, may_show, told
from deltos.domains.docs.api_page import description_addresses, graphql_endpoint, schema_addresses
from deltos.domains.docs.dependencies import direct_dependencies
from deltos.domains.docs.model import FoundDescription, SourceStatus
from deltos.domains.docs.source import parse_address
from deltos.errors import BadArgument, DeltosError, Forbidden, NotFound, ReadingStopped, SourceError
from deltos.fetch.files import MAX_DESCRIPTION_BYTES, MAX_FILE_BYTES, read_file
from deltos.globs import check_globs
from deltos.store.documents import SourceRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.docs.background import Crawls
    from deltos.domains.docs.model import ApiCatalog
    from deltos.domains.docs.running import Run
    from deltos.domains.docs.source import Address, Kind, Opener
    from deltos.fetch.http import HttpClient
    from deltos.store.documents import CrawlRow, Pages, Passages, Sources

DEPENDENCIES = "deps:"
_API_PAGE = re.compile(
    r"/(?:docs|redoc|reference|scalar|swagger-ui|api|graphi?ql|playground|altair|voyager|(?:index|swagger|redoc|graphi?ql)\.html)/?$",
    re.IGNORECASE,
)
_API_FILE = re.compile(
    r"\.(?:json|ya?ml|graphqls?|gql|proto)$|/(?:open-?api|swagger|async-?api|api-?docs|api-?spec|spec)/?$",
    re.IGNORECASE,
)
MOST_PAGES = 100_000
_MOST_PAGES_OF_WEBSITE = 500  # unless the user asks for more
_MOST_ADDRESSES_OF_PAGE = 6


@dataclass(frozen=True, slots=True)
class NewSource:
    """What the user wants added. Local paths must lie below one of `roots`.

    `max_pages` 0 is the usual limit of the kind: 500 for a website, none for what lies on this machine.
    """

    url: str
    name: str
    project_root: Path
    roots: tuple[Path, ...]
    version: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_pages: int = 0
    max_depth: int = 0
    auth: str = ""
    browser: bool = False


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a request to add: sources begun, a line about an API description, what could not be added."""

    sources: tuple[SourceRow, ...] = ()
    api_line: str = ""
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recrawl:
    """A crawl that was opened, or one that was left unfinished and goes on."""

    source: SourceRow
    goes_on: bool = False


class Library:
    """All documentation sources of this user."""

    def __init__(
        self,
        store: Sources,
        index: Pages,
        search_store: Passages,
        crawls: Crawls,
        opener: Opener,
        *,
        apis: ApiCatalog,
        now: Callable[[], float],
    ) -> None:
        self._store = store
        self._index = index
        self._search_store = search_store
        self._opener = opener
        self._apis = apis
        self._now = now
        self.crawls = crawls

    # ------------------------------------------------------------------ changing

    def add(self, request: NewSource) -> Added:
        """Record a source, or all direct dependencies of the project; their crawls are open but not begun."""
        if request.url.strip() == DEPENDENCIES:
            return self._add_dependencies(request)
        check_globs((*request.include, *request.exclude))
        address = parse_address(request.url, project_root=request.project_root, roots=request.roots)
        self._opener.logins.find(request.auth.strip(), address.url)  # refused at once, not by the crawl
        if request.browser and is_confined() and not self._opener.browser:
            raise Forbidden("No browser is switched on for callers", hint="Set DELTOS_BROWSER where the server runs.")
        name = request.name.strip() or default_name(address.url)
        self._refuse_duplicate(name, address.url)
        if api_line := self._as_api(replace(request, name=name), address):
            return Added(api_line=api_line)
        source = SourceRow(
            id=_source_id(address.url, name),
            name=name,
            kind=address.kind,
            url=address.url,
            version=request.version or address.version,
            include=request.include or address.include,
            exclude=request.exclude,
            max_pages=_most_pages(request.max_pages, address.kind),
            max_depth=max(0, request.max_depth),
            project_root=request.project_root.as_posix(),
            added_at=self._now(),
            auth=request.auth.strip(),
            browser=request.browser,
        )
        return Added((self._record(source),))

    def _record(self, source: SourceRow) -> SourceRow:
        source = _with_version(source, self._opener.version_of(source))
        self._store.add_source(source)
        self._store.begin_crawl(source.id, is_full=False, now=self._now())
        return source

    def _add_dependencies(self, request: NewSource) -> Added:
        """Each direct dependency that is installed and not yet a source; the others are named with the reason."""
        wanted = direct_dependencies(request.project_root)
        if not wanted.addresses and not wanted.left_out:
            raise NotFound(
                "The project names no dependencies",
                hint="deps: reads pyproject.toml, requirements*.txt and package.json in the project folder.",
            )
        sources: list[SourceRow] = []
        failures = list(wanted.left_out)
        for address in wanted.addresses:
            try:
                name = address.partition(":")[2]
                added = self.add(
                    NewSource(address, name, request.project_root, request.roots, max_pages=request.max_pages)
                )
                sources += added.sources
            except DeltosError as exc:
                failures.append(f"{address}: {exc.message}")
        return Added(tuple(sources), failures=tuple(failures))

    def _as_api(self, request: NewSource, address: Address) -> str:
        """Hand an API description to the API domain; empty when it is none. An address is checked on the way."""
        url = address.url
        if address.kind == "folder":
            path = Path(url)
            most = MAX_DESCRIPTION_BYTES if _API_FILE.search(url) else MAX_FILE_BYTES
            if path.is_file() and self._apis.recognises(data := read_file(path, most)):
                return self._apis.add(FoundDescription(request.name, url, request.version, data))
        elif address.kind == "website":
            from deltos.fetch.http import DESCRIPTION_LIMITS  # deferred: only now a network is needed

            may_be_api = _API_FILE.search(url.partition("?")[0])
            client = self._opener.client(None)
            try:
                client.check(url)
                if request.auth:  # what is read with a login is not for everybody, as APIs are
                    return ""
                data = client.get(url, limits=DESCRIPTION_LIMITS).body if may_be_api else b""
                if not may_be_api and _API_PAGE.search(url.partition("?")[0]):
                    url, data = self._shown_description(client, url)
            finally:
                client.close()
            if data and self._apis.recognises(data):
                return self._apis.add(FoundDescription(request.name, url, request.version, data))
            if url.endswith("/graphql") or url != address.url:
                line = self._as_endpoint(FoundDescription(request.name, url, request.version))
                if line or url == address.url:
                    return line
                raise SourceError(
                    f"The page is for the GraphQL endpoint {url}, which offers its schema neither as a file nor to"
                    " introspection",
                    hint="Give the schema as a file.",
                )
        return ""

    def _shown_description(self, client: HttpClient, page: str) -> tuple[str, bytes]:
        """The description that a page of Swagger UI or its like shows, with its address; without one, the endpoint that
        a page of GraphiQL asks, or the page."""
        from deltos.fetch.http import DESCRIPTION_LIMITS  # deferred: only now a network is needed

        endpoint = ""
        try:
            body = client.get(page).body
            addresses = description_addresses(body, page)
            if endpoint := graphql_endpoint(body, page):
                addresses += schema_addresses(body, page)
            # A page may lead to a script and that to the description; one that leads ever on is none of these.
            for at in range(_MOST_ADDRESSES_OF_PAGE):
                if at >= len(addresses):
                    break
                data = client.get(addresses[at], limits=DESCRIPTION_LIMITS).body
                if self._apis.recognises(data):
                    return addresses[at], data
                addresses += [one for one in description_addresses(data, addresses[at]) if one not in addresses]
        except ReadingStopped:
            raise
        except SourceError:
            pass  # then it is crawled, which tells why it cannot be read
        return endpoint or page, b""

    def _as_endpoint(self, description: FoundDescription) -> str:
        """Add a live endpoint; empty when it turns out to be an ordinary page."""
        try:
            return self._apis.add(description)
        except ReadingStopped:
            raise
        except SourceError:
            return ""

    def _refuse_duplicate(self, name: str, url: str) -> None:
        for source in self._store.sources():
            if not _is_shown(source):
                if source.name.lower() == name.lower():
                    raise BadArgument(f"The name '{name}' cannot be used", hint="Choose another one.")
            elif source.name.lower() == name.lower() or source.url == url:
                raise BadArgument(
                    f"'{source.name}' ({told(source.url)}) is already a source",
                    hint="Use recrawl_source to refresh it, or remove_source first.",
                )

    def recrawl(self, id_or_name: str, *, full: bool) -> Recrawl:
        """Open a new crawl of a source, or let an unfinished one go on; refuses while one is under way."""
        source = self.find(id_or_name)
        crawl = self._store.crawl(source.id)
        unfinished = crawl if crawl is not None and crawl.state == "open" else None
        if unfinished and self.crawls.is_running(source.id):
            raise _already_crawled(source)
        if unfinished and not full:
            if not self.crawls.allow_again(unfinished, unfinished):
                raise _already_crawled(source)
            return Recrawl(source, goes_on=True)
        source = _with_version(source, self._opener.version_of(source))
        self._store.set_version(source.id, source.version)
        self._store.begin_crawl(source.id, is_full=full, now=self._now())
        if unfinished and (begun := self._store.crawl(source.id)):
            self._index.discard(source.id)
            self.crawls.allow_again(unfinished, begun)
        return Recrawl(source)

    def cancel(self, id_or_name: str) -> bool:
        """Stop a crawl, in whichever process it runs; readers keep what they had. False when none was under way."""
        source = self.find(id_or_name)
        if not self._store.end_crawl(source.id, "cancelled", "cancelled on request", self._now()):
            return False
        self._index.discard(source.id)
        return True

    def remove(self, id_or_name: str) -> tuple[SourceRow, int, int]:
        """Remove a source with its crawl and the APIs it brought; returns it and how many pages and chunks it had."""
        source = self.find(id_or_name)
        totals = self._search_store.totals([source.id])
        self._index.remove_source(source.id)
        self._apis.remove_brought(source.id)
        self._opener.clones.remove(source.id)
        return source, totals.pages, totals.chunks

    # ------------------------------------------------------------------ asking

    def find(self, id_or_name: str) -> SourceRow:
        """The source with that id or name; suggests near names when there is none."""
        source = self._store.source(id_or_name.strip())
        if source is not None and _is_shown(source):
            return source
        names = [known.name for known in self.sources()]
        near = get_close_matches(id_or_name, names, n=3, cutoff=0.5) or names[:3]
        hint = f"Known: {', '.join(near)}." if near else "There is none yet: use add_source."
        raise NotFound(f"No documentation source '{id_or_name}'", hint=hint)

    def knows(self, id_or_name: str) -> bool:
        """Whether there is a source with that id or name."""
        source = self._store.source(id_or_name.strip())
        return source is not None and _is_shown(source)

    def sources(self) -> list[SourceRow]:
        """All sources that this call may be shown, by name."""
        return [source for source in self._store.sources() if _is_shown(source)]

    def statuses(self) -> list[SourceStatus]:
        """Where every source stands."""
        return [self._status(source) for source in self.sources()]

    def status(self, id_or_name: str) -> SourceStatus:
        """Where one source stands."""
        return self._status(self.find(id_or_name))

    def _status(self, source: SourceRow) -> SourceStatus:
        crawl = self._store.crawl(source.id)
        counts = self._store.address_counts(source.id)
        failures = tuple(self._store.failed_addresses(source.id)) if {"failed", "missing"} & counts.keys() else ()
        died = self.crawls.died(source.id)
        totals = self._search_store.totals([source.id])
        settled = sum(count for state, count in counts.items() if state != "queued")
        rate = _rate(crawl, settled, self._now())
        queued = counts.get("queued", 0)
        return SourceStatus(
            source=source,
            state="INTERRUPTED" if died else self._state(source, crawl, has_failures=bool(failures)),
            reason=_reason_of_death(source, died) if died else _reason(source, crawl, sum(counts.values())),
            pages_done=counts.get("done", 0),
            pages_queued=queued,
            pages_unchanged=counts.get("unchanged", 0),
            pages_skipped=counts.get("skipped", 0),
            pages=totals.pages,
            chunks=totals.chunks,
            failures=failures,
            started_at=crawl.started_at if crawl else 0.0,
            finished_at=crawl.finished_at if crawl else 0.0,
            rate=rate,
            seconds_left=queued / rate if rate and crawl and crawl.state == "open" and not died else None,
            reading_when_died=died.reading if died else (),
        )

    def _state(self, source: SourceRow, crawl: CrawlRow | None, *, has_failures: bool) -> str:
        if crawl is not None and crawl.state == "open":
            return "CRAWLING" if self.crawls.is_running(source.id) else "WAITING"
        if crawl is not None and crawl.state == "failed":
            return "FAILED" if not source.generation else "READY (last crawl failed)"
        if not source.generation:
            return "CANCELLED"
        return "READY with failures" if has_failures else "READY"


def _most_pages(wanted: int, kind: Kind) -> int:
    usual = _MOST_PAGES_OF_WEBSITE if kind == "website" else MOST_PAGES
    return max(1, min(wanted or usual, MOST_PAGES))


def _is_shown(source: SourceRow) -> bool:
    """Whether this call may be shown a source: files of a project, or packages installed in it, are the project's."""
    is_elsewhere = "://" in source.url
    if is_elsewhere and not source.auth:
        return True
    return may_show(Path(source.url if source.kind in ("folder", "git") and not is_elsewhere else source.project_root))


def _already_crawled(source: SourceRow) -> BadArgument:
    return BadArgument(
        f"'{source.name}' is being crawled already", hint="Ask crawl_status how far it is, or wait for it to end."
    )


def _reason_of_death(source: SourceRow, run: Run) -> str:
    """What people are told of a crawl that died: over what, and how it goes on."""
    when = f"while it read {', '.join(run.reading)}" if run.reading else "before it read a page"
    return (
        f"its process died {when}; it does not go on by itself: recrawl_source (deltos docs recrawl {source.name})"
        " goes on with it and reads those pages last, one at a time"
    )


def _reason(source: SourceRow, crawl: CrawlRow | None, addresses: int) -> str:
    if crawl is not None and crawl.reason:
        return crawl.reason
    if source.kind == "website" and addresses >= source.max_pages:
        return (
            f"the limit of {source.max_pages} pages was reached, there may be more;"
            " remove the source and add it with a larger limit"
        )
    return ""


def _rate(crawl: CrawlRow | None, settled: int, now: float) -> float:
    if crawl is None:
        return 0.0
    seconds = (crawl.finished_at or now) - crawl.started_at
    return settled / seconds if seconds > 0 else 0.0


def default_name(url: str) -> str:
    """The default name of a source: its package, its host, or the last part of its path."""
    _, separator, rest = url.partition("://")
    if not separator:
        return url.rpartition("/")[2] if "/" in url and ":" not in url else url.partition(":")[2] or url
    host, _, path = rest.partition("/")
    return path.rstrip("/").rpartition("/")[2].partition(".")[0] or host


def _source_id(url: str, name: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:24] or "source"
    return f"{slug}-{hashlib.sha256(f'{url} {name}'.encode()).hexdigest()[:6]}"


def _with_version(source: SourceRow, version: str) -> SourceRow:
    return replace(source, version=version)
