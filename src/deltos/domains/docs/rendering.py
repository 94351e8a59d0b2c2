"""Pages of a website in a browser: what they may ask for while they are rendered, and from whom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from deltos.errors import AddressRefused
from deltos.logins import site_of

if TYPE_CHECKING:
    from deltos.browser.render import Renderer
    from deltos.fetch.http import HttpClient, HttpResponse
    from deltos.fetch.robots import Robots


@dataclass(frozen=True, slots=True)
class Rendering:
    """Renders pages. Their own site is asked as the crawl asks it; others without login and private hosts, or not at
    all where the site has a login: what a page may read, a script in it may pass on."""

    renderer: Renderer
    others: HttpClient | None

    def html(self, response: HttpResponse, own: HttpClient, robots: Robots) -> bytes:
        """The HTML of a page that was fetched, after its scripts ran."""
        return self.renderer.render(response.url, response, partial(self._ask, response.url, own, robots))

    def close(self) -> None:
        """End the browser."""
        self.renderer.close()
        if self.others:
            self.others.close()

    def _ask(self, page: str, own: HttpClient, robots: Robots, url: str) -> HttpResponse:
        is_own = site_of(url) == site_of(page)
        if not is_own:
            return self._ask_others(url)
        if not robots.rules(url).allow(url):
            raise AddressRefused("robots.txt forbids it")
        response = own.get(url, accept="*/*")
        if site_of(response.url) != site_of(page):  # moved to where the crawl may go and a script may not
            return self._ask_others(url)
        return response

    def _ask_others(self, url: str) -> HttpResponse:
        if self.others is None:
            raise AddressRefused("A page behind a login asks no other host")
        return self.others.get(url, accept="*/*")
