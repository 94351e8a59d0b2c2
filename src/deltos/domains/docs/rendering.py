"""Pages of a website in a browser: what they may ask for while they are rendered, and from whom."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deltos.errors import AddressRefused, FetchFailed
from deltos.logins import site_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.browser.render import Renderer
    from deltos.fetch.http import HttpClient, HttpResponse
    from deltos.fetch.pace import Pace
    from deltos.fetch.robots import Robots

MAX_REMEMBERED_BYTES = 30_000_000
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class CrawledSite:
    """The site that is crawled: how it is asked, what it allows, how often."""

    client: HttpClient
    robots: Robots
    pace: Pace


@dataclass(slots=True)
class Rendering:
    """Renders pages. Their own site is asked as the crawl asks it; others without login and private hosts, or not at
    all where the site has a login: what a page may read, a script in it may pass on.

    What the site answered is remembered for the pages to come, which mostly have the same scripts.
    """

    renderer: Renderer
    others: HttpClient | None
    sleep: Callable[[float], None] = time.sleep
    _remembered: dict[str, HttpResponse] = field(default_factory=dict)
    _remembered_bytes: int = 0
    _remembering: threading.Lock = field(default_factory=threading.Lock)

    def html(self, response: HttpResponse, site: CrawledSite) -> bytes:
        """The HTML of a page that was fetched, after its scripts ran."""
        return self.renderer.render(response.url, response, partial(self._ask, response.url, site))

    def close(self) -> None:
        """End the browser."""
        self.renderer.close()
        if self.others:
            self.others.close()

    def _ask(self, page: str, site: CrawledSite, url: str) -> HttpResponse:
        is_own = site_of(url) == site_of(page)
        if not is_own:
            return self._ask_others(url)
        if not site.robots.rules(url).allow(url):
            raise AddressRefused("robots.txt forbids it")
        response = self._remembered.get(url) or self._ask_own(site, url)
        if site_of(response.url) != site_of(page):  # moved to where the crawl may go and a script may not
            return self._ask_others(url)
        self._remember(url, response)
        return response

    def _ask_own(self, site: CrawledSite, url: str) -> HttpResponse:
        """Ask the site in turn, as often as a page is asked for while it is overloaded."""
        host = urlsplit(url).netloc
        for attempt in range(1, _ATTEMPTS + 1):
            self._wait_for_turn(site, url, host)
            try:
                response = site.client.get(url, accept="*/*")
            except FetchFailed as exc:
                if not exc.retryable or not exc.status:
                    raise
                site.pace.complained(host, exc.retry_after_seconds)
                if attempt == _ATTEMPTS:
                    raise
            else:
                site.pace.answered(host)
                return response
        raise FetchFailed("The server was asked too often", retryable=True)  # never: the last attempt raises

    def _wait_for_turn(self, site: CrawledSite, url: str, host: str) -> None:
        while pause := site.pace.take_turn(host, site.robots.rules(url).delay_seconds()):
            self.renderer.allow_more(pause)
            self.sleep(pause)

    def _remember(self, url: str, response: HttpResponse) -> None:
        with self._remembering:
            size = len(response.body)
            if url not in self._remembered and self._remembered_bytes + size <= MAX_REMEMBERED_BYTES:
                self._remembered[url] = response
                self._remembered_bytes += size

    def _ask_others(self, url: str) -> HttpResponse:
        if self.others is None:
            raise AddressRefused("A page behind a login asks no other host")
        return self.others.get(url, accept="*/*")
