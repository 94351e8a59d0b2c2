"""Read a website as a source: find the pages, fetch them, and follow links within the site."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from deltos.domains.docs.model import (
    API_DESCRIPTION_REASON,
    ApiCatalog,
    FoundDescription,
    ParsedPages,
    Skipped,
    Unchanged,
    Unparsed,
)
from deltos.domains.docs.pages import RawPage, page_text
from deltos.errors import AddressRefused, FetchFailed, ParserStopped, SourceError
from deltos.fetch.rate_limit import HostRateLimiter
from deltos.fetch.robots import Robots, parse_robots
from deltos.fetch.sitemap import UnreadSitemap, parse_sitemap, sitemap_addresses
from deltos.fetch.url import SiteScope, folder_of, normalise
from deltos.isolated_parser import Task
from deltos.logins import HOW_TO_LOG_IN
from deltos.markup.formats import format_of
from deltos.markup.markdown import parse_markdown
from deltos.markup.model import Link
from deltos.store.documents import CrawlAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deltos.domains.docs.pages import PageText
    from deltos.fetch.http import HttpClient, HttpResponse
    from deltos.fetch.robots import SiteRules
    from deltos.fetch.sitemap import Sitemap
    from deltos.isolated_parser import Parser
    from deltos.markup.model import Document
    from deltos.store.documents import KnownPage, SourceRow

PARALLEL_REQUESTS = 4
_MAX_QUERIES_PER_PATH = 30  # maximum number of query strings per path; calendars, for example, have endless URLs
_MAX_SITEMAPS = 50
_ROBOTS_POLL_INTERVAL_SECONDS = 0.2  # pause before checking whether another thread has fetched robots.txt
GONE_STATUSES = frozenset((404, 410))
GONE_PAGE = "gone"  # skip reason of a page that no longer exists
NOT_TEXT = "not text"
_REDIRECT_PREFIX = "redirects to "
_OUTSIDE_SUFFIX = ", outside the source"
NEEDS_SCRIPTS = "no text without running scripts, which Deltos does not run"
_MAX_NOTICE_CHARACTERS = 300  # maximum length of a page text that may be a notice such as "please enable JavaScript"
# A longer page with such a heading may be documentation about the error.
_MAX_MISSING_CHARACTERS = 1_000
_MISSING_HEADING = re.compile(
    r"(?:(?:error |http )?404\W{0,3})?(?:page )?not found|(?:error |http )?404", re.IGNORECASE
)
_NOTICE_WORDS = ("enable", "require", "need", "turn on", "turned off", "disabled", "without javascript")
_LLMS_PAGE = re.compile(r"^# ++(?P<title>[^\n]+)\n++(?:Source|URL):\s*+(?P<url>https?://\S++)[ \t]*+$", re.MULTILINE)
_MIN_FULL_TEXT_BYTES = 2_000  # a smaller llms-full.txt is a placeholder or an error page
_LLMS_FILES = ("/llms.txt", "/llms-full.txt")  # these files are Markdown by convention, but often served as plain text
_INDEX_SUFFIX = re.compile(r"(?:/index)?(?:\.html?|\.md)?/?$")


class Website:
    """Reads the pages below a start URL within the site's rate limit."""

    thread_count = PARALLEL_REQUESTS
    batch_size = 1
    keeps_unlinked_pages = True

    def __init__(
        self,
        source: SourceRow,
        client: HttpClient,
        apis: ApiCatalog,
        *,
        parser: Parser,
        clock: Callable[[], float],
    ) -> None:
        self._source = source
        self._client = client
        self._apis = apis
        self._parser = parser
        self._robots = Robots(client, lambda data: parser.run(parse_robots, data, content=(data,)))
        self._rate_limiter = HostRateLimiter(clock)
        self._fetching_rules: set[str] = set()
        self._queries: Counter[str] = Counter()
        self._cached_scope: SiteScope | None = None
        self._scope_lock = threading.Lock()

    @property
    def _scope(self) -> SiteScope:
        """The scope of the source, which depends on the start URL or the URL to which it redirects."""
        with self._scope_lock:
            if self._cached_scope is None:
                self._cached_scope = self._resolve_scope()
            return self._cached_scope

    def _resolve_scope(self) -> SiteScope:
        """Return the scope of the start page or of the URL to which the start page redirects."""
        scope = SiteScope(normalise(self._source.url), self._source.include, self._source.exclude)
        if not self._robots.rules(scope.start).allow(scope.start):
            return scope
        try:
            final = normalise(self._client.get(scope.start).url)
        except FetchFailed:
            return scope  # the crawl reports the error when it reads the start page
        return scope if scope.admits(final) else SiteScope(final, scope.include, scope.exclude)

    def start_addresses(self) -> Iterator[str | CrawlAddress]:
        """Yield the URLs from which the crawl starts.

        These are the URL of an llms-full.txt with the whole site, or the URLs of the start page and of the pages in
        llms.txt and sitemaps.
        """
        start = self._scope.start
        full_text = self._find_full_text()
        if full_text:
            yield full_text
        if isinstance(full_text, str) and full_text:
            return
        yield start
        yield from self._pages_in_llms()
        yield from self._pages_in_sitemaps()

    def read(self, address: CrawlAddress, known: KnownPage | None) -> Unparsed | Unchanged | Skipped:
        """Fetch one page if robots.txt allows it. An unchanged page is not downloaded again."""
        rules = self._fetch_rules(address)
        if rules.unavailable:
            raise FetchFailed(f"robots.txt cannot be read ({rules.unavailable})", retryable=False)
        if not rules.allow(address.url):
            return self._refuse_by_robots(address)
        host = urlsplit(address.url).netloc
        before = known or address
        try:
            response = self._client.get(address.url, etag=before.etag, last_modified=before.last_modified)
            if known is None and response.not_modified:
                if _has_same_target(address, response):
                    return Skipped(address.reason, (), address.etag, address.last_modified)
                response = self._client.get(address.url)
        except FetchFailed as exc:
            return self._handle_failure(address, known, exc)
        self._rate_limiter.record_success(host)
        digest = hashlib.blake2b(response.body, digest_size=16).digest()
        if response.not_modified or (known and known.hash == digest):
            return Unchanged()
        return self._to_task(address, response, digest)

    def take_turn(self, address: CrawlAddress) -> float:
        """Return the delay in seconds that the host requires before the next request.

        While one thread fetches robots.txt, other URLs of the host wait.
        """
        host = urlsplit(address.url).netloc
        if rules := self._robots.known(address.url):
            return self._rate_limiter.take_turn(host, rules.delay_seconds())
        if host in self._fetching_rules:
            return _ROBOTS_POLL_INTERVAL_SECONDS
        self._fetching_rules.add(host)
        return 0.0

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    # ------------------------------------------------------------------ one page

    def _fetch_rules(self, address: CrawlAddress) -> SiteRules:
        """Return the robots.txt rules for an address; fetch them if needed."""
        host = urlsplit(address.url).netloc
        try:
            rules = self._robots.rules(address.url)
            if host in self._fetching_rules:
                # This request counts for the rate limit now, because the required delay was unknown before.
                self._rate_limiter.take_turn(host, rules.delay_seconds())
            return rules
        finally:
            self._fetching_rules.discard(host)

    def _refuse_by_robots(self, address: CrawlAddress) -> Skipped:
        """Return a skipped outcome for a page that robots.txt forbids; raise SourceError if it is the start page."""
        if address.depth == 0:
            raise SourceError("robots.txt forbids this URL", hint="Add a local copy of the documentation instead.")
        return Skipped("robots.txt forbids it")

    def _handle_failure(self, address: CrawlAddress, known: KnownPage | None, exc: FetchFailed) -> Skipped:
        """Return a skipped outcome for an indexed page that no longer exists; raise all other errors."""
        if exc.status in GONE_STATUSES and (known is not None or address.reason == GONE_PAGE):
            return Skipped(GONE_PAGE)
        if exc.retryable and exc.status:
            self._rate_limiter.record_overload(urlsplit(address.url).netloc, exc.retry_after_seconds)
        raise exc

    def _to_task(self, address: CrawlAddress, response: HttpResponse, digest: bytes) -> Unparsed | Skipped:
        """Return the parsing task for a page. Redirects, and documents that are not pages, are skipped."""
        url = normalise(response.url)
        if url != address.url:
            inside = self._scope.admits(url)
            reason = f"{_REDIRECT_PREFIX}{url}{'' if inside else _OUTSIDE_SUFFIX}"
            return Skipped(reason, (url,) if inside else (), response.etag, response.last_modified)
        form = "markdown" if url.endswith(_LLMS_FILES) else format_of(url, response.media_type)
        if form is None or response.media_type.endswith(("json", "yaml")):
            return self._handle_non_page(url, response)
        raw = RawPage(response.body, form, response.url, response.charset)
        task = Task(read_web_page, (self._scope, address.url, raw), (raw.data,))
        return Unparsed(task, partial(self._finish_page, address, response, digest))

    def _finish_page(
        self, address: CrawlAddress, response: HttpResponse, digest: bytes, page: WebPage
    ) -> ParsedPages | Skipped:
        """Return the outcome of a parsed page."""
        if page.requires_login:
            raise SourceError("The page requires a login", hint=HOW_TO_LOG_IN)
        skipped = partial(Skipped, etag=response.etag, last_modified=response.last_modified)
        linked_urls = tuple(filter(self._is_within_query_limit, page.linked_urls))
        if page.moved_to:
            return skipped(f"moved to {page.moved_to}", linked_urls)
        if page.canonical != address.url:
            return skipped(f"the same page as {page.canonical}", (page.canonical, *linked_urls))
        if page.is_missing and address.depth > 0:
            return skipped("the page says that it does not exist", linked_urls)
        if page.is_noindex and address.depth > 0:
            return skipped("the page forbids indexing", linked_urls)
        if page.is_filled_by_script:
            return skipped(NEEDS_SCRIPTS, linked_urls)
        rows = (
            text.to_row(url, address.url, etag=response.etag, last_modified=response.last_modified, digest=digest)
            for url, text in page.pages
        )
        return ParsedPages(tuple(rows), linked_urls)

    def _handle_non_page(self, url: str, response: HttpResponse) -> Skipped:
        """If a response is an API description, add it to the API catalog; return the skip reason."""
        if self._source.auth:
            return Skipped("API descriptions behind a login are not added")
        if self._apis.recognises(response.body):
            name = urlsplit(url).path.rpartition("/")[2].rpartition(".")[0] or self._source.name
            self._apis.add(FoundDescription.of_source(self._source, name, url, response.body))
            return Skipped(API_DESCRIPTION_REASON)
        reason = f"{NOT_TEXT} ({response.media_type or 'unknown type'})"
        return Skipped(reason, (), response.etag, response.last_modified)

    def _is_within_query_limit(self, url: str) -> bool:
        """Whether the number of different query strings of a path is within the limit."""
        path, _, query = url.partition("?")
        if not query:
            return True
        self._queries[path] += 1
        return self._queries[path] <= _MAX_QUERIES_PER_PATH

    # ------------------------------------------------------------------ page lists

    def _find_full_text(self) -> str | CrawlAddress:
        """Return the URL of an llms-full.txt that contains the whole site; empty if there is none."""
        for url in self._urls_near_start("llms-full.txt"):
            response = self._fetch_text(url)
            if response is not None and len(response.body) >= _MIN_FULL_TEXT_BYTES:
                data = response.body
                try:
                    has_urls = self._parser.run(has_page_urls, data, content=(data,))
                except ParserStopped as exc:
                    return CrawlAddress(url, state="failed", reason=str(exc))
                if has_urls or url == urljoin(self._scope.start, "llms-full.txt"):
                    return url
        return ""

    def _pages_in_llms(self) -> Iterator[str | CrawlAddress]:
        """Yield the pages listed in llms.txt."""
        for url in self._urls_near_start("llms.txt"):
            response = self._fetch_text(url)
            if response is not None:
                data = response.body
                try:
                    listed = self._parser.run(listed_links, self._scope, url, data, content=(data,))
                except ParserStopped as exc:
                    yield CrawlAddress(url, state="failed", reason=str(exc))
                else:
                    yield from filter(self._is_within_query_limit, listed)
                return

    def _pages_in_sitemaps(self) -> Iterator[str | CrawlAddress]:
        """Yield the pages listed in sitemaps; yield an unreadable sitemap as a failed address."""
        named = self._robots.rules(self._scope.start).sitemaps()
        if len(named) > _MAX_SITEMAPS:
            reason = f"only the first {_MAX_SITEMAPS} of its {len(named)} sitemaps were read"
            yield CrawlAddress(urljoin(self._scope.start, "/robots.txt"), state="failed", reason=reason)
        for url in named[:_MAX_SITEMAPS] or self._urls_near_start("sitemap.xml"):
            try:
                for found in sitemap_addresses(self._client, url, self._parse_sitemap):
                    if isinstance(found, UnreadSitemap):
                        yield CrawlAddress(found.url, state="failed", reason=found.reason)
                    elif self._is_within_query_limit(found):
                        yield found
            except SourceError:
                continue  # the sitemap is on a host that Deltos must not contact

    def _parse_sitemap(self, data: bytes) -> Sitemap:
        return self._parser.run(read_sitemap, self._scope, data, content=(data,))

    def _urls_near_start(self, name: str) -> list[str]:
        """Return the URLs at which a file may be: in the folder of the start page, and at the root of the site."""
        parts = urlsplit(self._scope.start)
        site = f"{parts.scheme}://{parts.netloc}"
        return list(dict.fromkeys((f"{site}{folder_of(parts.path)}{name}", f"{site}/{name}")))

    def _fetch_text(self, url: str) -> HttpResponse | None:
        """Fetch a text file; return None if it cannot be fetched or is not text."""
        try:
            if not self._robots.rules(url).allow(url):
                return None
            response = self._client.get(url, accept="text/plain, text/markdown")
        except (FetchFailed, AddressRefused):
            return None
        is_text = response.media_type in ("text/plain", "text/markdown", "") and not response.body.lstrip().startswith(
            b"<"
        )
        return response if is_text else None


def _has_same_target(address: CrawlAddress, response: HttpResponse) -> bool:
    """Whether a "not modified" response comes from the same URL as the page in the last crawl."""
    # If a redirect has changed, another page may have the same ETag.
    url = normalise(response.url)
    if url == address.url:
        return not address.reason.startswith(_REDIRECT_PREFIX)
    return address.reason.removesuffix(_OUTSIDE_SUFFIX) == f"{_REDIRECT_PREFIX}{url}"


# ---------------------------------------------------------------------- functions run in a child process


@dataclass(frozen=True, slots=True)
class WebPage:
    """The parsed content of a fetched page, and the links to pages of the same source.

    `pages` contains the URL and text of each page in the response: usually one, none if the page is skipped.
    """

    pages: tuple[tuple[str, PageText], ...]
    linked_urls: tuple[str, ...]
    canonical: str
    moved_to: str = ""
    requires_login: bool = False
    is_noindex: bool = False
    is_filled_by_script: bool = False
    is_missing: bool = False  # whether the page only says that it does not exist, although its status is 200


def read_web_page(scope: SiteScope, url: str, raw: RawPage) -> WebPage:
    """Parse a page that the crawler requested with `url`."""
    document = raw.parse()
    canonical = _canonical_url(scope, url, document)
    if document.moved_to:
        # The canonical form is not used, because `dir/` may redirect to `dir/index.html`.
        moved_to = [normalise(document.moved_to)] if _canonical_urls(scope, [document.moved_to]) else []
        return WebPage((), tuple(moved_to), canonical, document.moved_to, document.requires_login)
    links = _links_within(scope, document)
    texts: tuple[tuple[str, PageText], ...] = ()
    if canonical == url and not document.requires_login:
        texts = _pages_of_full_text(url, raw.data) or ((url, page_text(document, links)),)
    linked_urls = tuple(dict.fromkeys(link.url.partition("#")[0] for link in links))
    return WebPage(
        texts,
        linked_urls,
        canonical,
        requires_login=document.requires_login,
        is_noindex=document.is_noindex,
        is_filled_by_script=_is_empty_shell(raw, texts),
        is_missing=_is_missing_notice(document, texts),
    )


def _is_empty_shell(raw: RawPage, texts: tuple[tuple[str, PageText], ...]) -> bool:
    """Whether a page is HTML with scripts but has no text, except for a notice that JavaScript is required."""
    if raw.format != "html" or not texts or b"<script" not in raw.data.lower():
        return False
    text = " ".join(chunk.text for _, page in texts for chunk in page.chunks)
    words = text.lower()
    return not text or (
        len(text) < _MAX_NOTICE_CHARACTERS and "javascript" in words and any(map(words.__contains__, _NOTICE_WORDS))
    )


def _is_missing_notice(document: Document, texts: tuple[tuple[str, PageText], ...]) -> bool:
    """Whether a page is short and its heading says that it does not exist."""
    size = sum(len(chunk.text) for _, page in texts for chunk in page.chunks)
    return size <= _MAX_MISSING_CHARACTERS and _MISSING_HEADING.fullmatch(document.title.strip(" .!")) is not None


def has_page_urls(data: bytes) -> bool:
    """Whether an llms-full.txt contains the URLs of its pages."""
    return _LLMS_PAGE.search(data.decode("utf-8", "replace")) is not None


def listed_links(scope: SiteScope, url: str, data: bytes) -> tuple[str, ...]:
    """Return the URLs of the source's pages that an llms.txt lists."""
    document = parse_markdown(data.decode("utf-8", "replace"), url=url)
    return _canonical_urls(scope, (link.url for link in document.links))


def read_sitemap(scope: SiteScope, data: bytes) -> Sitemap:
    """Parse a sitemap and keep the URLs that belong to the source."""
    sitemap = parse_sitemap(data)
    return sitemap if sitemap.is_index else replace(sitemap, addresses=_canonical_urls(scope, sitemap.addresses))


def _canonical_url(scope: SiteScope, url: str, document: Document) -> str:
    """Return the canonical URL that a page declares, or `url` if the declared URL is missing or seems wrong."""
    # Many sites declare wrong canonical URLs.
    if not document.canonical_url:
        return url
    try:
        canonical = normalise(document.canonical_url)
    except ValueError:
        return url
    same = _INDEX_SUFFIX.sub("", canonical.split("?")[0]) == _INDEX_SUFFIX.sub("", url.split("?")[0])
    return canonical if same and scope.admits(canonical) else url


def _links_within(scope: SiteScope, document: Document) -> tuple[Link, ...]:
    """Return the links of a page to pages of the same source, in canonical form with fragments."""
    bases = dict.fromkeys(link.url.partition("#")[0] for link in document.links)
    forms = {base: form for base in bases for form in _canonical_urls(scope, [base])}
    found = []
    for link in document.links:
        base, mark, fragment = link.url.partition("#")
        if form := forms.get(base):
            found.append(Link(f"{form}{mark}{fragment}", link.text))
    return tuple(found)


def _canonical_urls(scope: SiteScope, addresses: Iterable[str]) -> tuple[str, ...]:
    """Return the URLs that belong to the source, in canonical form and without duplicates."""
    found: dict[str, None] = {}
    for address in addresses:
        try:
            url = normalise(address)
        except ValueError:
            continue
        if scope.admits(url):
            found[scope.canonical_form(url)] = None
    return tuple(found)


def _pages_of_full_text(url: str, data: bytes) -> tuple[tuple[str, PageText], ...]:
    """Return the URL and text of each page in an llms-full.txt; empty for any other file."""
    if not url.endswith("llms-full.txt"):
        return ()
    text = data.decode("utf-8", "replace")
    marks = list(_LLMS_PAGE.finditer(text))
    pages = []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=False):
        body = text[mark.end() : end]
        document = parse_markdown(f"# {mark['title']}\n\n{body}", url=mark["url"], title=mark["title"])
        pages.append((mark["url"], page_text(document)))
    return tuple(pages)
