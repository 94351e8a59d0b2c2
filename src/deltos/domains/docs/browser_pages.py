"""Render website pages in a browser, and decide which requests the scripts of a page may make."""

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
    from deltos.fetch.rate_limit import HostRateLimiter
    from deltos.fetch.robots import Robots

MAX_CACHED_BYTES = 30_000_000
_MAX_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class CrawledSite:
    """HTTP client, robots.txt rules and rate limiter for the crawled site."""

    client: HttpClient
    robots: Robots
    rate_limiter: HostRateLimiter


@dataclass(slots=True)
class BrowserRendering:
    """Renders pages in a browser; requests to the page's own site obey robots.txt and the rate limit.

    Requests to other public hosts contain no login. If the site itself needs a login, requests to other hosts are
    refused, because a script could send page contents to them. Responses are cached, because the pages of a site
    usually share scripts.
    """

    renderer: Renderer
    external_client: HttpClient | None  # client for requests to other hosts; None if such requests are forbidden
    sleep: Callable[[float], None] = time.sleep
    _cache: dict[str, HttpResponse] = field(default_factory=dict)
    _cached_bytes: int = 0
    _cache_lock: threading.Lock = field(default_factory=threading.Lock)

    def html(self, response: HttpResponse, site: CrawledSite) -> bytes:
        """Run the scripts of a fetched page and return the resulting HTML."""
        return self.renderer.render(response.url, response, partial(self._answer_request, response.url, site))

    def close(self) -> None:
        """Terminate the browser and close connections."""
        self.renderer.close()
        if self.external_client:
            self.external_client.close()

    def _answer_request(self, page: str, site: CrawledSite, url: str) -> HttpResponse:
        """Return the response to a request from a page's script; raise AddressRefused if the request is forbidden."""
        is_own = site_of(url) == site_of(page)
        if not is_own:
            return self._request_other_host(url)
        if not site.robots.rules(url).allow(url):
            raise AddressRefused("robots.txt forbids it")
        response = self._cache.get(url) or self._request_own_site(site, url)
        if site_of(response.url) != site_of(page):  # a redirect to another host is refused
            return self._request_other_host(url)
        self._cache_response(url, response)
        return response

    def _request_own_site(self, site: CrawledSite, url: str) -> HttpResponse:
        """Request a URL of the site within the site's rate limit; retry while the site is overloaded."""
        host = urlsplit(url).netloc
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            self._wait_for_rate_limit(site, url, host)
            try:
                response = site.client.get(url, accept="*/*")
            except FetchFailed as exc:
                if not exc.retryable or not exc.status:
                    raise
                site.rate_limiter.record_overload(host, exc.retry_after_seconds)
                if attempt == _MAX_ATTEMPTS:
                    raise
            else:
                site.rate_limiter.record_success(host)
                return response
        raise FetchFailed("Too many attempts", retryable=True)  # unreachable: the last attempt raises its own error

    def _wait_for_rate_limit(self, site: CrawledSite, url: str, host: str) -> None:
        while pause := site.rate_limiter.take_turn(host, site.robots.rules(url).delay_seconds()):
            self.renderer.extend_deadline(pause)
            self.sleep(pause)

    def _cache_response(self, url: str, response: HttpResponse) -> None:
        """Cache a response if there is enough space in the cache."""
        with self._cache_lock:
            size = len(response.body)
            if url not in self._cache and self._cached_bytes + size <= MAX_CACHED_BYTES:
                self._cache[url] = response
                self._cached_bytes += size

    def _request_other_host(self, url: str) -> HttpResponse:
        if self.external_client is None:
            raise AddressRefused("A page behind a login must not contact other hosts")
        return self.external_client.get(url, accept="*/*")
