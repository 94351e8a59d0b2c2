"""robots.txt is fetched once per site and respected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.fetch.http import HttpClient
from deltos.fetch.rate_limit import HostRateLimiter
from deltos.fetch.robots import Robots
from deltos.fetch.robots_rules import rules_for
from tests.loopback import LOOPBACK, Page

if TYPE_CHECKING:
    from tests.attacks import LimitedProcess
    from tests.loopback import Site


def serve_robots(_: Site) -> Robots:
    return Robots(HttpClient(private_hosts=LOOPBACK))


def test_wildcards_delay_and_sitemaps_are_parsed(site: Site) -> None:
    site.text("/robots.txt", "User-agent: *\nDisallow: /private/*.html$\nCrawl-delay: 2\nSitemap: https://x/s.xml\n")
    reader = serve_robots(site)
    rules = reader.rules(f"{site.url}/a")
    assert rules.allow(f"{site.url}/a")
    assert not rules.allow(f"{site.url}/private/x.html")
    assert (rules.delay_seconds(), rules.sitemaps()) == (2.0, ("https://x/s.xml",))
    assert reader.rules(f"{site.url}/b") is rules
    assert site.asked["/robots.txt"] == 1


def test_without_a_file_everything_is_allowed(site: Site) -> None:
    rules = serve_robots(site).rules(site.url)
    assert rules.allow(f"{site.url}/x")
    assert (rules.delay_seconds(), rules.sitemaps()) == (0.0, ())


def test_a_server_error_for_robots_txt_forbids_everything(site: Site) -> None:
    site.pages["/robots.txt"] = Page(status=503)
    rules = serve_robots(site).rules(site.url)
    assert "503" in rules.unavailable
    assert not rules.allow(f"{site.url}/x")


def test_the_crawl_delay_of_a_host_is_respected() -> None:
    now = [100.0]
    pace = HostRateLimiter(lambda: now[0])
    assert [pace.take_turn("a", 0.0), pace.take_turn("a", 3.0)] == [0.0, 0.0]
    assert (pace.take_turn("a", 3.0), pace.take_turn("b", 3.0)) == (3.0, 0.0)
    now[0] += 3.0
    assert pace.take_turn("a", 3.0) == 0.0


def test_backoff_doubles_until_a_host_responds() -> None:
    pace = HostRateLimiter(lambda: 0.0)
    assert [pace.record_overload("a", 0.0) for _ in range(3)] == [1.0, 2.0, 4.0]
    assert pace.record_overload("a", 9.0) == 9.0
    assert pace.record_overload("a", 9999.0) == 120.0
    pace.record_success("a")
    assert pace.record_overload("a", 0.0) == 1.0


def is_allowed(text: str, path: str) -> bool:
    return rules_for("deltos", text).allows(f"https://example.org{path}")


def test_the_longest_rule_wins_and_allow_wins_a_tie() -> None:
    text = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /*.php$\nAllow: /c\nDisallow: /c"
    assert [is_allowed(text, path) for path in ("/a", "/a/b", "/x.php", "/x.php5", "/c", "/d")] == [
        False, True, False, True, True, True,
    ]  # fmt: skip


def test_rules_for_our_agent_replace_rules_for_all_agents() -> None:
    text = "User-agent: *\nDisallow: /\n\nUser-agent: other\nUser-agent: Deltos/1.0\nDisallow: /b\nCrawl-delay: 4"
    assert (is_allowed(text, "/a"), is_allowed(text, "/b"), rules_for("deltos", text).group.delay_seconds) == (
        True,
        False,
        4.0,
    )


def test_escaped_and_literal_characters_match_except_for_slashes() -> None:
    text = "User-agent: *\nDisallow: /%61/\nDisallow: /ü\nDisallow: /c%2Fd"
    paths = ("/a/x", "/%C3%BC", "/c%2fd", "/c/d", "/b")
    assert [is_allowed(text, path) for path in paths] == [False, False, False, True, True]


def test_common_mistakes_in_lines_are_accepted() -> None:
    text = "User agent *\nDisallow /a # why\nDissallow: /b\nnonsense\nSitemap https://example.org/s.xml"
    assert [is_allowed(text, path) for path in ("/a", "/b", "/c", "/robots.txt")] == [False, False, True, True]
    assert rules_for("deltos", text).sitemaps == ("https://example.org/s.xml",)


def check_repeatedly(text: str, path: str) -> None:
    rules = rules_for("deltos", text)
    for _ in range(20):
        rules.allows(f"https://example.org{path}")


def test_hostile_robots_files_are_processed_in_linear_time(limited_process: LimitedProcess) -> None:
    limited_process.check_completes(
        check_repeatedly, "User-agent: *\nDisallow: /" + "a*" * 200_000 + "b$", "/" + "a" * 2_000
    )
    limited_process.check_completes(
        check_repeatedly, "User-agent: *\n" + "Disallow: /*a*a*b$\n" * 25_000, "/" + "a" * 2_000
    )
    agents = "".join(f"User-agent: a{number}\n" for number in range(20_000))
    limited_process.check_completes(check_repeatedly, agents + "User-agent: *\n" + "Disallow: /b\n" * 20_000, "/a")
