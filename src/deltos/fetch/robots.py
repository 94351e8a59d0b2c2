"""Download and cache of robots.txt rules."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deltos.errors import FetchFailed, ParserStopped
from deltos.fetch.robots_rules import RobotsRules, rules_for
from deltos.fetch.user_agent import AGENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.fetch.http import HttpClient

_MAX_CRAWL_DELAY_SECONDS = 30.0  # longer crawl delays in robots.txt are reduced to this delay
# Maximum size of a robots.txt file: twice the minimum in RFC 9309, because every URL is checked against every rule.
_MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class SiteRules:
    """The robots.txt rules of a site.

    Without a robots.txt, every URL is allowed. If the server fails to return the file, no URL is allowed.
    """

    robots_rules: RobotsRules | None
    unavailable: str = ""

    def allow(self, url: str) -> bool:
        """Whether `url` may be fetched."""
        if self.unavailable:
            return False
        return self.robots_rules is None or self.robots_rules.allows(url)

    def delay_seconds(self) -> float:
        """Return the number of seconds between requests that the site requires, up to a limit."""
        return min(self.robots_rules.group.delay_seconds if self.robots_rules else 0.0, _MAX_CRAWL_DELAY_SECONDS)

    def sitemaps(self) -> tuple[str, ...]:
        """Return the URLs of the sitemaps listed in robots.txt."""
        return self.robots_rules.sitemaps if self.robots_rules else ()


def parse_robots(data: bytes) -> SiteRules:
    """Parse a robots.txt file."""
    return SiteRules(rules_for(AGENT, data.decode("utf-8", "replace")))


@dataclass(slots=True)
class Robots:
    """Cache of the robots.txt rules of visited sites."""

    client: HttpClient
    parse: Callable[[bytes], SiteRules] = parse_robots
    _by_site: dict[str, SiteRules] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def rules(self, url: str) -> SiteRules:
        """Return the robots.txt rules for `url`. The rules are fetched if they are not cached."""
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc}"
        with self._lock:
            if site not in self._by_site:
                self._by_site[site] = self._fetch(site)
            return self._by_site[site]

    def known(self, url: str) -> SiteRules | None:
        """Return the cached robots.txt rules for `url`, or None if they are not cached."""
        parts = urlsplit(url)
        return self._by_site.get(f"{parts.scheme}://{parts.netloc}")

    def _fetch(self, site: str) -> SiteRules:
        try:
            response = self.client.get(f"{site}/robots.txt", accept="text/plain")
        except FetchFailed as exc:
            # According to RFC 9309, a missing file allows all URLs, and a failing server allows none.
            return SiteRules(None, unavailable="" if 400 <= exc.status < 500 and exc.status != 429 else exc.message)
        if len(response.body) > _MAX_BYTES:
            return SiteRules(None, unavailable=f"larger than {_MAX_BYTES // 1_000_000} MB")
        try:
            return self.parse(response.body)
        except ParserStopped as exc:
            return SiteRules(None, unavailable=exc.message)
