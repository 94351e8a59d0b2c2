"""What a site's robots.txt allows us. Reads it once per site."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deltos.errors import FetchFailed, ReadingStopped
from deltos.fetch.agent import AGENT
from deltos.fetch.robots_rules import RobotsRules, rules_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.fetch.http import HttpClient

_LONGEST_DELAY_SECONDS = 30.0
_LARGEST_BYTES = 1_000_000  # twice what RFC 9309 asks for: every address is compared with every rule


@dataclass(frozen=True, slots=True)
class SiteRules:
    """One site's rules. Without a robots.txt everything is allowed; with a broken server nothing is."""

    parsed: RobotsRules | None
    unavailable: str = ""

    def allow(self, url: str) -> bool:
        """Whether `url` may be fetched."""
        if self.unavailable:
            return False
        return self.parsed is None or self.parsed.allows(url)

    def delay_seconds(self) -> float:
        """How long to wait between two requests."""
        return min(self.parsed.group.delay_seconds if self.parsed else 0.0, _LONGEST_DELAY_SECONDS)

    def sitemaps(self) -> tuple[str, ...]:
        """The sitemaps that it names."""
        return self.parsed.sitemaps if self.parsed else ()


def parse_robots(data: bytes) -> SiteRules:
    """What a robots.txt says."""
    return SiteRules(rules_for(AGENT, data.decode("utf-8", "replace")))


@dataclass(slots=True)
class Robots:
    """The rules of every site asked so far."""

    client: HttpClient
    parse: Callable[[bytes], SiteRules] = parse_robots
    _by_site: dict[str, SiteRules] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def rules(self, url: str) -> SiteRules:
        """The rules of the site that `url` belongs to."""
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc}"
        with self._lock:
            if site not in self._by_site:
                self._by_site[site] = self._read(site)
            return self._by_site[site]

    def known(self, url: str) -> SiteRules | None:
        """The rules of the site that `url` belongs to, if they were read already; sends no request."""
        parts = urlsplit(url)
        return self._by_site.get(f"{parts.scheme}://{parts.netloc}")

    def _read(self, site: str) -> SiteRules:
        try:
            response = self.client.get(f"{site}/robots.txt", accept="text/plain")
        except FetchFailed as exc:
            # RFC 9309: a missing file allows all, a failing server allows nothing.
            return SiteRules(None, unavailable="" if 400 <= exc.status < 500 and exc.status != 429 else exc.message)
        if len(response.body) > _LARGEST_BYTES:
            return SiteRules(None, unavailable=f"it is larger than {_LARGEST_BYTES // 1_000_000} MB")
        try:
            return self.parse(response.body)
        except ReadingStopped as exc:
            return SiteRules(None, unavailable=exc.message)
