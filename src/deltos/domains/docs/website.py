"""A website as a source: where its pages are listed, how one is fetched, and which of its links belong to it."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from deltos.domains.docs.api_page import description_addresses
from deltos.domains.docs.model import IS_API, ApiCatalog, FoundDescription, PageReading, Skipped, Unchanged, Unparsed
from deltos.domains.docs.pages import RawPage, text_of
from deltos.domains.docs.rendering import CrawledSite
from deltos.errors import AddressRefused, FetchFailed, ReadingStopped, SourceError
from deltos.fetch.pace import Pace
from deltos.fetch.robots import Robots, parse_robots
from deltos.fetch.sitemap import UnreadSitemap, parse_sitemap, sitemap_addresses
from deltos.fetch.url import INDEX_PAGE, SiteScope, folder_of, normalise
from deltos.guarded import Task
from deltos.logins import HOW_TO_LOG_IN
from deltos.markup.formats import format_of
from deltos.markup.markdown import parse_markdown
from deltos.markup.model import Link
from deltos.store.documents import CrawlAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deltos.domains.docs.pages import PageText
    from deltos.domains.docs.rendering import Rendering
    from deltos.fetch.http import HttpClient, HttpResponse
    from deltos.fetch.robots import SiteRules
    from deltos.fetch.sitemap import Sitemap
    from deltos.guarded import Parser
    from deltos.markup.model import Document
    from deltos.store.documents import KnownPage, SourceRow

PARALLEL_REQUESTS = 4
_MOST_QUERIES_PER_PATH = 30  # calendars and filters generate addresses without end
_MOST_SITEMAPS = 50
_RULES_PAUSE_SECONDS = 0.2  # until another thread has read robots.txt
GONE = frozenset((404, 410))
_NO_FOLDER = GONE | {403}  # what servers answer that have no page for a folder
GONE_PAGE = "gone"  # a page that was indexed
NOT_TEXT = "not text"
_SAYS_MISSING = "It answers, but says that there is no such page"
_REDIRECTS = "redirects to "
_OUTSIDE = ", outside of the source"
_SHOWS_API = "it shows an API description, which is read instead"
NEEDS_BROWSER = "needs a browser: it has no text before its scripts run; add the source anew with browser (--browser)"
_LONGEST_NOTICE = 300  # characters of "please enable JavaScript"
_NEEDS = ("enable", "require", "need", "turn on", "turned off", "disabled", "without javascript")
_LLMS_PAGE = re.compile(r"^# ++(?P<title>[^\n]+)\n++(?:Source|URL):\s*+(?P<url>https?://\S++)[ \t]*+$", re.MULTILINE)
_SMALLEST_FULL_TEXT = 2_000  # bytes; a shorter llms-full.txt is a stub or an error page
_LLMS_FILES = ("/llms.txt", "/llms-full.txt")  # Markdown by convention, sent as plain text
_SAME_PAGE = re.compile(r"(?:/index)?(?:\.html?|\.md)?/?$")


class Website:
    """Reads pages below a start address, as slowly as the site asks for."""

    parallel = PARALLEL_REQUESTS
    together = 1
    keeps_unlisted = True

    def __init__(
        self,
        source: SourceRow,
        client: HttpClient,
        apis: ApiCatalog,
        *,
        parser: Parser,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        rendering: Rendering | None = None,
    ) -> None:
        self._source = source
        self._rendering = rendering
        self._client = client
        self._apis = apis
        self._parser = parser
        self._robots = Robots(client, lambda data: parser.run(parse_robots, data, content=(data,)))
        self._pace = Pace(clock)
        self._sleep = sleep
        self._asking: set[str] = set()
        self._queries: Counter[str] = Counter()
        self._may_name_apis: set[str] = set()
        self._resolved: SiteScope | None = None
        self._resolving = threading.Lock()

    @property
    def _scope(self) -> SiteScope:
        """Which addresses belong to the site. A start page that redirects elsewhere takes the source along."""
        with self._resolving:
            if self._resolved is None:
                self._resolved = self._resolve_scope()
            return self._resolved

    def _resolve_scope(self) -> SiteScope:
        scope = SiteScope(normalise(self._source.url), self._source.include, self._source.exclude)
        if not self._robots.rules(scope.start).allow(scope.start):
            return scope
        try:
            final = normalise(self._client.get(scope.start).url)
        except FetchFailed:
            return scope  # reading the start page will say why
        return scope if scope.admits(final) else SiteScope(final, scope.include, scope.exclude)

    def begin(self) -> Iterator[str | CrawlAddress]:
        """The start page, unless the whole site is one text; then what llms.txt and the sitemaps list."""
        start = self._scope.start
        full_text = self._full_text()
        if full_text:
            yield full_text
        if isinstance(full_text, str) and full_text:
            return
        yield start
        yield from self._listed_in_llms()
        yield from self._listed_in_sitemaps()

    def read(self, address: CrawlAddress, known: KnownPage | None) -> Unparsed | Unchanged | Skipped:
        """Fetch one page if robots.txt allows it; unchanged ones cost no body."""
        rules = self._rules_of(address)
        if rules.unavailable:
            raise FetchFailed(f"robots.txt cannot be read ({rules.unavailable})", retryable=False)
        if not rules.allow(address.url):
            return self._forbidden(address)
        host = urlsplit(address.url).netloc
        before = known or address
        try:
            response = self._client.get(address.url, etag=before.etag, last_modified=before.last_modified)
            if known is None and response.not_modified:
                if _leads_where_it_did(address, response):
                    is_missing = address.reason.startswith(_SAYS_MISSING)
                    return Skipped(address.reason, (), address.etag, address.last_modified, is_missing=is_missing)
                response = self._client.get(address.url)
        except FetchFailed as exc:
            if exc.status in _NO_FOLDER and (index := self._index_page_of(address.url)):
                return Skipped(f"it is at {index}", (index,))
            return self._failed(address, known, exc)
        self._pace.answered(host)
        response = self._rendered(address, response)
        digest = hashlib.blake2b(response.body, digest_size=16).digest()
        if response.not_modified or (known and known.hash == digest):
            return Unchanged()
        return self._unparsed(address, response, digest)

    def take_turn(self, address: CrawlAddress) -> float:
        """How long the page's host wants us to wait. Its first reader asks for its rules, the others wait for them."""
        host = urlsplit(address.url).netloc
        if rules := self._robots.known(address.url):
            return self._pace.take_turn(host, rules.delay_seconds())
        if host in self._asking:
            return _RULES_PAUSE_SECONDS
        self._asking.add(host)
        return 0.0

    def close(self) -> None:
        """Close idle connections, end the browser."""
        self._client.close()
        if self._rendering:
            self._rendering.close()

    # ------------------------------------------------------------------ one page

    def _rules_of(self, address: CrawlAddress) -> SiteRules:
        host = urlsplit(address.url).netloc
        try:
            rules = self._robots.rules(address.url)
            if host in self._asking:
                self._pace.take_turn(host, rules.delay_seconds())  # ours: how long it counts was not known
            return rules
        finally:
            self._asking.discard(host)

    def _index_page_of(self, url: str) -> str:
        """The address of the index page of a folder that the server does not answer for itself; empty for none."""
        index = f"{url}{INDEX_PAGE}"
        rules = self._robots.rules(index)
        if not url.endswith("/") or "?" in url or not self._scope.admits(index) or not rules.allow(index):
            return ""
        while pause := self._pace.take_turn(urlsplit(url).netloc, rules.delay_seconds()):
            self._sleep(pause)
        try:
            return index if normalise(self._client.get(index).url) == index else ""
        except FetchFailed:
            return ""

    def _rendered(self, address: CrawlAddress, response: HttpResponse) -> HttpResponse:
        """The page as a browser shows it, where the source wants that; it is never known to be unchanged before."""
        is_page = format_of(response.url, response.media_type) == "html" and normalise(response.url) == address.url
        if self._rendering is None or response.not_modified or not is_page:
            return response
        html = self._rendering.html(response, CrawledSite(self._client, self._robots, self._pace))
        return replace(response, body=html, charset="utf-8", etag="", last_modified="")

    def _forbidden(self, address: CrawlAddress) -> Skipped:
        if address.depth == 0:
            raise SourceError("robots.txt forbids this address", hint="Ask the site's owner, or add a local copy.")
        return Skipped("robots.txt forbids it")

    def _failed(self, address: CrawlAddress, known: KnownPage | None, exc: FetchFailed) -> Skipped:
        if exc.status in GONE and (known is not None or address.reason == GONE_PAGE):
            return Skipped(GONE_PAGE)
        if exc.retryable and exc.status:
            self._pace.complained(urlsplit(address.url).netloc, exc.retry_after_seconds)
        raise exc

    def _unparsed(self, address: CrawlAddress, response: HttpResponse, digest: bytes) -> Unparsed | Skipped:
        url = normalise(response.url)
        if url != address.url:
            inside = self._scope.admits(url)
            reason = f"{_REDIRECTS}{url}{'' if inside else _OUTSIDE}"
            return Skipped(reason, (url,) if inside else (), response.etag, response.last_modified)
        form = "markdown" if url.endswith(_LLMS_FILES) else format_of(url, response.media_type)
        if form is None or response.media_type.endswith(("json", "yaml")) or url in self._may_name_apis:
            return self._not_a_page(url, response)
        raw = RawPage(response.body, form, response.url, response.charset)
        task = Task(read_web_page, (self._scope, address.url, raw), (raw.data,))
        return Unparsed(task, partial(self._page, address, response, digest))

    def _page(
        self, address: CrawlAddress, response: HttpResponse, digest: bytes, page: WebPage
    ) -> PageReading | Skipped:
        if page.wants_login:
            raise SourceError("The page asks for a login", hint=HOW_TO_LOG_IN)
        skipped = partial(Skipped, etag=response.etag, last_modified=response.last_modified)
        if page.says_missing:
            # As if the server had said so: a page that was there goes, and a new one is listed with the reason.
            return skipped(f"{_SAYS_MISSING} ('{page.says_missing}')", is_missing=True)
        leads_to = tuple(filter(self._few_queries, page.leads_to))
        if page.moved_to:
            return skipped(f"moved to {page.moved_to}", leads_to)
        if page.canonical != address.url:
            return skipped(f"the same page as {page.canonical}", (page.canonical, *leads_to))
        if page.asks_not_to_index and address.depth > 0:
            return skipped("the page asks not to be indexed", leads_to)
        if page.is_filled_by_script and not self._source.auth and (shown := self._shown_by(address.url, response)):
            return Skipped(_SHOWS_API, (*leads_to, *shown))
        if page.is_filled_by_script and self._rendering is None:
            return skipped(NEEDS_BROWSER, leads_to)
        rows = (
            text.row(url, address.url, etag=response.etag, last_modified=response.last_modified, digest=digest)
            for url, text in page.texts
        )
        return PageReading(tuple(rows), leads_to)

    def _not_a_page(self, url: str, response: HttpResponse) -> Skipped:
        if self._source.auth:
            return Skipped("behind a login only pages are read")
        if self._apis.recognises(response.body):
            name = urlsplit(url).path.rpartition("/")[2].rpartition(".")[0] or self._source.name
            source = self._source
            found = FoundDescription(name, url, source.version, response.body, source.id, source.name)
            self._apis.add(found)
            return Skipped(IS_API)
        # A page of Swagger UI names a script, and that the description.
        reason = f"{NOT_TEXT} ({response.media_type or 'unknown type'})"
        if url in self._may_name_apis:
            return Skipped(reason, tuple(self._shown_by(url, response)))
        return Skipped(reason, (), response.etag, response.last_modified)

    def _shown_by(self, url: str, response: HttpResponse) -> list[str]:
        """Where the API description lies that a page only shows, or the script that says so; none on another host."""
        named = description_addresses(response.body, url)
        self._may_name_apis.update(named)
        return named

    def _few_queries(self, url: str) -> bool:
        """Whether an address is worth asking for: a path with endless queries is given up on."""
        path, _, query = url.partition("?")
        if not query:
            return True
        self._queries[path] += 1
        return self._queries[path] <= _MOST_QUERIES_PER_PATH

    # ------------------------------------------------------------------ where pages are listed

    def _full_text(self) -> str | CrawlAddress:
        """The address of the text that holds the whole site, if it has one and that names its pages."""
        for url in self._beside_start("llms-full.txt"):
            response = self._text_at(url)
            if response is not None and len(response.body) >= _SMALLEST_FULL_TEXT:
                data = response.body
                try:
                    names_pages = self._parser.run(names_its_pages, data, content=(data,))
                except ReadingStopped as exc:
                    return CrawlAddress(url, state="failed", reason=str(exc))
                if names_pages or url == urljoin(self._scope.start, "llms-full.txt"):
                    return url
        return ""

    def _listed_in_llms(self) -> Iterator[str | CrawlAddress]:
        for url in self._beside_start("llms.txt"):
            response = self._text_at(url)
            if response is not None:
                data = response.body
                try:
                    listed = self._parser.run(listed_links, self._scope, url, data, content=(data,))
                except ReadingStopped as exc:
                    yield CrawlAddress(url, state="failed", reason=str(exc))
                else:
                    yield from filter(self._few_queries, listed)
                return

    def _listed_in_sitemaps(self) -> Iterator[str | CrawlAddress]:
        named = self._robots.rules(self._scope.start).sitemaps()
        if len(named) > _MOST_SITEMAPS:
            reason = f"it names {len(named)} sitemaps; {_MOST_SITEMAPS} were read"
            yield CrawlAddress(urljoin(self._scope.start, "/robots.txt"), state="failed", reason=reason)
        for url in named[:_MOST_SITEMAPS] or self._beside_start("sitemap.xml"):
            try:
                for found in sitemap_addresses(self._client, url, self._parse_sitemap):
                    if isinstance(found, UnreadSitemap):
                        yield CrawlAddress(found.url, state="failed", reason=found.reason)
                    elif self._few_queries(found):
                        yield found
            except SourceError:
                continue  # a sitemap elsewhere that may not be asked

    def _parse_sitemap(self, data: bytes) -> Sitemap:
        return self._parser.run(read_sitemap, self._scope, data, content=(data,))

    def _beside_start(self, name: str) -> list[str]:
        parts = urlsplit(self._scope.start)
        site = f"{parts.scheme}://{parts.netloc}"
        return list(dict.fromkeys((f"{site}{folder_of(parts.path)}{name}", f"{site}/{name}")))

    def _text_at(self, url: str) -> HttpResponse | None:
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


def _leads_where_it_did(address: CrawlAddress, response: HttpResponse) -> bool:
    """Whether an answer that gave no page comes from where it came from: others may have the same ETag."""
    url = normalise(response.url)
    if url == address.url:
        return not address.reason.startswith(_REDIRECTS)
    return address.reason.removesuffix(_OUTSIDE) == f"{_REDIRECTS}{url}"


# ---------------------------------------------------------------------- what runs in a child process

# What sites show, with the status of a page that is there, for a page that is not. Longer ones may explain the error.
_LONGEST_MISSING = 1_000
_SHOWN_HEADING = 80
_MISSING_CODES = ("404", "error 404", "http 404")
_SAID_WITH_CODE = ("error", "not found")
_AFTER_HEADING = (":", "-", "|", "–", "—", "·", "(")
_MISSING_PHRASES = (
    "page not found",
    "page could not be found",
    "page couldn't be found",
    "page cannot be found",
    "page can't be found",
    "page does not exist",
    "page doesn't exist",
    "page is missing",
    "no such page",
)


@dataclass(frozen=True, slots=True)
class WebPage:
    """What a fetched page says of itself, and where it leads within its source.

    `texts` has an address for each page in it: usually one, none when the page is to be passed over.
    """

    texts: tuple[tuple[str, PageText], ...]
    leads_to: tuple[str, ...]
    canonical: str
    moved_to: str = ""
    wants_login: bool = False
    asks_not_to_index: bool = False
    says_missing: str = ""
    is_filled_by_script: bool = False


def read_web_page(scope: SiteScope, url: str, raw: RawPage) -> WebPage:
    """Parse a page that was asked for at `url`."""
    document = raw.document()
    canonical = _canonical(scope, url, document)
    if document.moved_to:
        # As it is written: `dir/` may send to `dir/index.html`.
        moved_to = [normalise(document.moved_to)] if _admitted(scope, [document.moved_to]) else []
        return WebPage((), tuple(moved_to), canonical, document.moved_to, document.wants_login)
    links = _links(scope, document)
    texts: tuple[tuple[str, PageText], ...] = ()
    if canonical == url and not document.wants_login:
        texts = _pages_of_full_text(url, raw.data) or ((url, text_of(document, links)),)
    leads_to = tuple(dict.fromkeys(link.url.partition("#")[0] for link in links))
    return WebPage(
        texts,
        leads_to,
        canonical,
        wants_login=document.wants_login,
        asks_not_to_index=document.asks_not_to_index,
        says_missing=_says_missing(document),
        is_filled_by_script=_is_empty_shell(raw, texts),
    )


def _says_missing(document: Document) -> str:
    """The words in which a short page says that there is no page; empty for all others."""
    if sum(len(block.text) for section in document.sections for block in section.blocks) > _LONGEST_MISSING:
        return ""
    headings = (
        document.title,
        document.window_title,
        *(section.path[-1] for section in document.sections[:2] if section.path),
    )
    for heading in headings:
        words = " ".join(heading.lower().replace("’", "'").split())
        if _is_missing_code(words) or any(phrase in words for phrase in _MISSING_PHRASES):
            return heading[:_SHOWN_HEADING]
    return ""


def _is_missing_code(words: str) -> bool:
    """Whether a heading is the code itself, not a topic such as "404 handling"."""
    code = next((code for code in _MISSING_CODES if words.startswith(code)), "")
    rest = words[len(code) :].strip(" .!")
    for said in _SAID_WITH_CODE:
        rest = rest.removeprefix(said).lstrip()
    return bool(code) and (not rest or rest.startswith(_AFTER_HEADING))


def _is_empty_shell(raw: RawPage, texts: tuple[tuple[str, PageText], ...]) -> bool:
    """Whether a page is HTML with scripts and no text, or a word that a script is needed."""
    if raw.format != "html" or not texts or b"<script" not in raw.data.lower():
        return False
    text = " ".join(chunk.text for _, page in texts for chunk in page.chunks)
    words = text.lower()
    return not text or (len(text) < _LONGEST_NOTICE and "javascript" in words and any(map(words.__contains__, _NEEDS)))


def names_its_pages(data: bytes) -> bool:
    """Whether an llms-full.txt says where its parts came from."""
    return _LLMS_PAGE.search(data.decode("utf-8", "replace")) is not None


def listed_links(scope: SiteScope, url: str, data: bytes) -> tuple[str, ...]:
    """The pages of the source that an llms.txt names."""
    document = parse_markdown(data.decode("utf-8", "replace"), url=url)
    return _admitted(scope, (link.url for link in document.links))


def read_sitemap(scope: SiteScope, data: bytes) -> Sitemap:
    """A sitemap with the pages of the source only."""
    sitemap = parse_sitemap(data)
    return sitemap if sitemap.is_index else replace(sitemap, addresses=_admitted(scope, sitemap.addresses))


def _canonical(scope: SiteScope, url: str, document: Document) -> str:
    """The address the page prefers, when that is plainly the same page; many sites get theirs wrong."""
    if not document.canonical_url:
        return url
    try:
        canonical = normalise(document.canonical_url)
    except ValueError:
        return url
    same = _SAME_PAGE.sub("", canonical.split("?")[0]) == _SAME_PAGE.sub("", url.split("?")[0])
    return canonical if same and scope.admits(canonical) else url


def _links(scope: SiteScope, document: Document) -> tuple[Link, ...]:
    """The page's links to pages of this source, in their one form; fragments are kept."""
    bases = dict.fromkeys(link.url.partition("#")[0] for link in document.links)
    forms = {base: form for base in bases for form in _admitted(scope, [base])}
    found = []
    for link in document.links:
        base, mark, fragment = link.url.partition("#")
        if form := forms.get(base):
            found.append(Link(f"{form}{mark}{fragment}", link.text))
    return tuple(found)


def _admitted(scope: SiteScope, addresses: Iterable[str]) -> tuple[str, ...]:
    """The addresses of this source in their one form, each once."""
    found: dict[str, None] = {}
    for address in addresses:
        try:
            url = normalise(address)
        except ValueError:
            continue
        if scope.admits(url):
            found[scope.one_form(url)] = None
    return tuple(found)


def _pages_of_full_text(url: str, data: bytes) -> tuple[tuple[str, PageText], ...]:
    """The pages inside an llms-full.txt that says where each came from; empty for any other page."""
    if not url.endswith("llms-full.txt"):
        return ()
    text = data.decode("utf-8", "replace")
    marks = list(_LLMS_PAGE.finditer(text))
    pages = []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=False):
        body = text[mark.end() : end]
        document = parse_markdown(f"# {mark['title']}\n\n{body}", url=mark["url"], title=mark["title"])
        pages.append((mark["url"], text_of(document)))
    return tuple(pages)
