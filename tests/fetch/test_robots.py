"""robots.txt is read once per site and obeyed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.fetch.http import HttpClient
from deltos.fetch.pace import Pace
from deltos.fetch.robots import Robots
from tests.loopback import LOOPBACK, Page

if TYPE_CHECKING:
    from tests.loopback import Site


def robots(_: Site) -> Robots:
    return Robots(HttpClient(private_hosts=LOOPBACK))


def test_rules_with_wildcards_delay_and_sitemaps_are_understood(site: Site) -> None:
    site.text("/robots.txt", "User-agent: *\nDisallow: /private/*.html$\nCrawl-delay: 2\nSitemap: https://x/s.xml\n")
    reader = robots(site)
    rules = reader.rules(f"{site.url}/a")
    assert rules.allow(f"{site.url}/a")
    assert not rules.allow(f"{site.url}/private/x.html")
    assert (rules.delay_seconds(), rules.sitemaps()) == (2.0, ("https://x/s.xml",))
    assert reader.rules(f"{site.url}/b") is rules
    assert site.asked["/robots.txt"] == 1


def test_without_a_file_everything_is_allowed(site: Site) -> None:
    rules = robots(site).rules(site.url)
    assert rules.allow(f"{site.url}/x")
    assert (rules.delay_seconds(), rules.sitemaps()) == (0.0, ())


def test_a_site_that_cannot_say_allows_nothing(site: Site) -> None:
    site.pages["/robots.txt"] = Page(status=503)
    rules = robots(site).rules(site.url)
    assert "503" in rules.unavailable
    assert not rules.allow(f"{site.url}/x")


def test_a_host_is_asked_no_faster_than_it_wants() -> None:
    now = [100.0]
    pace = Pace(lambda: now[0])
    assert [pace.take_turn("a", 0.0), pace.take_turn("a", 3.0)] == [0.0, 0.0]
    assert (pace.take_turn("a", 3.0), pace.take_turn("b", 3.0)) == (3.0, 0.0)
    now[0] += 3.0
    assert pace.take_turn("a", 3.0) == 0.0


def test_a_host_that_complains_is_asked_ever_more_slowly_until_it_answers() -> None:
    pace = Pace(lambda: 0.0)
    assert [pace.complained("a", 0.0) for _ in range(3)] == [1.0, 2.0, 4.0]
    assert pace.complained("a", 9.0) == 9.0
    assert pace.complained("a", 9999.0) == 120.0
    pace.answered("a")
    assert pace.complained("a", 0.0) == 1.0
