"""Crawls of websites: links, redirects, sitemaps, robots.txt, limits and failures."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from deltos.errors import AddressRefused, FetchFailed
from tests.loopback import Page

if TYPE_CHECKING:
    from tests.domains.docs.conftest import DocsClient
    from tests.loopback import Site


def html_page(title: str, text: str, *links: str) -> str:
    anchors = "".join(f'<p><a href="{link}">{link}</a></p>' for link in links)
    head = f"<html><head><title>{title}</title></head>"
    return f"{head}<body><main><h1 id='top'>{title}</h1><p>{text}</p>{anchors}</main></body></html>"


def test_links_below_the_start_page_are_followed_and_cited_with_their_anchor(
    docs_client: DocsClient, site: Site
) -> None:
    site.html(
        "/docs/", html_page("Start", "Welcome to the manual.", "install.html", "/blog/", "https://elsewhere.invalid/")
    )
    site.html("/docs/install.html", html_page("Install", "Run the installer with pip.", "./"))
    site.html("/blog/", html_page("Blog", "Not documentation."))
    status = docs_client.add(f"{site.url}/docs/")
    assert (status.state, status.pages, status.failures) == ("READY", 2, ())
    assert docs_client.find_citations("run the installer") == [f"{site.url}/docs/install.html#top"]
    assert "/blog/" not in site.asked


def test_a_page_that_fails_is_listed_with_its_reason(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "gone.html", "broken.html"))
    site.pages["/broken.html"] = Page(status=500)
    status = docs_client.add(site.url)
    assert status.state == "READY with failures"
    assert {place.url.rpartition("/")[2]: place.reason for place in status.failures} == {
        "gone.html": "HTTP 404: the server has no such page",
        "broken.html": "HTTP 500: the server reports an error",
    }
    assert (site.asked["/gone.html"], site.asked["/broken.html"]) == (1, 3)


def test_a_page_that_fails_once_is_retried(docs_client: DocsClient, site: Site) -> None:
    answers = [
        Page(status=503, headers={"Retry-After": "30"}),
        Page(html_page("Late", "At last.").encode(), headers={"Content-Type": "text/html"}),
    ]
    site.html("/", html_page("Start", "Welcome.", "late.html"))
    site.pages["/late.html"] = lambda _: answers.pop(0)
    assert docs_client.add(site.url).state == "READY"
    assert docs_client.find_citations("at last") == [f"{site.url}/late.html#top"]
    assert sum(docs_client.time.waited) >= 30


@pytest.mark.parametrize(
    ("status", "words"), [(404, "no such page"), (403, "refuses access"), (500, "reports an error")]
)
def test_an_unreadable_start_page_fails_the_source(
    docs_client: DocsClient, site: Site, status: int, words: str
) -> None:
    site.pages["/"] = Page(status=status)
    found = docs_client.add(site.url)
    assert found.state == "FAILED"
    assert words in found.reason


def test_a_login_page_is_not_indexed(docs_client: DocsClient, site: Site) -> None:
    site.html("/", "<form><input type=password></form><p>Please sign in</p>")
    assert "requires a login" in docs_client.add(site.url).reason


def test_invalid_urls_are_refused_immediately(docs_client: DocsClient) -> None:
    with pytest.raises(FetchFailed, match="Cannot resolve the host"):
        docs_client.add("https://no-such-host.invalid/")
    with pytest.raises(AddressRefused, match="Malformed"):
        docs_client.add("http://[half")
    assert docs_client.docs.library.sources() == []


def test_pages_without_incoming_links_are_found_through_sitemaps(docs_client: DocsClient, site: Site) -> None:
    site.text("/robots.txt", f"User-agent: *\nDisallow: /secret\nSitemap: {site.url}/map.xml.gz\n")
    urls = "".join(f"<url><loc>{site.url}/{name}</loc></url>" for name in ("lonely.html", "secret.html"))
    site.pages["/map.xml.gz"] = Page(gzip.compress(f"<urlset>{urls}</urlset>".encode()))
    site.html("/", html_page("Start", "Welcome."))
    site.html("/lonely.html", html_page("Lonely", "Nobody links here."))
    site.html("/secret.html", html_page("Secret", "Keep out."))
    status = docs_client.add(site.url)
    assert docs_client.find_citations("nobody links") == [f"{site.url}/lonely.html#top"]
    assert site.asked["/secret.html"] == 0
    assert status.state == "READY with failures"


def test_a_start_page_forbidden_by_robots_txt_fails_with_that_reason(docs_client: DocsClient, site: Site) -> None:
    site.text("/robots.txt", "User-agent: *\nDisallow: /\n")
    site.html("/", html_page("Start", "Welcome."))
    assert "robots.txt forbids" in docs_client.add(site.url).reason


def test_an_unavailable_robots_txt_forbids_everything(docs_client: DocsClient, site: Site) -> None:
    site.pages["/robots.txt"] = Page(status=500)
    site.html("/", html_page("Start", "Welcome."))
    assert "robots.txt cannot be read" in docs_client.add(site.url).reason


def test_a_crawl_delay_is_respected(docs_client: DocsClient, site: Site) -> None:
    site.text("/robots.txt", "User-agent: *\nCrawl-delay: 5\n")
    site.html("/", html_page("Start", "Welcome.", "a.html", "b.html"))
    site.html("/a.html", html_page("A", "First."))
    site.html("/b.html", html_page("B", "Second."))
    assert docs_client.add(site.url).pages == 3
    assert sum(docs_client.time.waited) >= 10


def test_pages_forbidden_by_robots_txt_are_skipped(docs_client: DocsClient, site: Site) -> None:
    site.text("/robots.txt", "User-agent: *\nDisallow: /x.html\n")
    site.html("/", html_page("Start", "Welcome.", "x.html"))
    status = docs_client.add(site.url)
    assert (status.state, status.pages_skipped) == ("READY", 1)


def test_markdown_pages_are_found_through_llms_txt(docs_client: DocsClient, site: Site) -> None:
    site.text("/llms.txt", f"# Docs\n\n- [Guide]({site.url}/guide.md)\n- [Out](https://elsewhere.invalid/x.md)\n")
    site.text("/guide.md", "# Guide\n\nConfigure the frobnicator.", "text/markdown")
    site.html("/", html_page("Start", "Welcome."))
    docs_client.add(site.url)
    assert docs_client.find_citations("frobnicator") == [f"{site.url}/guide.md#guide"]


def test_llms_full_txt_is_split_into_pages_that_are_cited_separately(docs_client: DocsClient, site: Site) -> None:
    text = f"# Install\nSource: {site.url}/install\n\nUse pip. {'More words. ' * 200}\n\n"
    text += f"# Use\nSource: {site.url}/use\n\nCall frobnicate."
    site.text("/llms-full.txt", text)
    site.html("/", html_page("Start", "Welcome.", "other.html"))
    status = docs_client.add(site.url)
    assert status.pages == 2
    assert docs_client.find_citations("frobnicate") == [f"{site.url}/use#use"]
    assert "/other.html" not in site.asked


def test_an_llms_full_txt_without_page_separators_is_used_only_next_to_the_start_page(
    docs_client: DocsClient, site: Site
) -> None:
    site.text("/llms-full.txt", "# Everything\n\n" + "Words of all products. " * 200)
    site.html("/docs/", html_page("Docs", "The manual."))
    assert docs_client.add(f"{site.url}/docs/").pages == 1
    assert docs_client.find_citations("manual") == [f"{site.url}/docs/#top"]
    site.text("/other/llms-full.txt", "# Other\n\n" + "Words of this product alone. " * 200)
    docs_client.add(f"{site.url}/other/", name="other")
    assert set(docs_client.find_citations("alone", source="other")) == {f"{site.url}/other/llms-full.txt#other"}


def test_redirects_are_followed_and_each_page_is_indexed_once(docs_client: DocsClient, site: Site) -> None:
    site.redirect("/", "/docs/")
    site.html("/docs/", html_page("Docs", "The manual.", "/old.html", "/new.html"))
    site.redirect("/old.html", "/new.html")
    site.html("/new.html", html_page("New", "Newer text."))
    status = docs_client.add(site.url)
    assert (status.state, status.pages) == ("READY", 2)


def test_a_site_that_moved_to_another_path_is_followed_there(docs_client: DocsClient, site: Site) -> None:
    site.redirect("/docs/", "/v2/docs/")
    site.html("/v2/docs/", html_page("Docs", "The manual.", "more.html"))
    site.html("/v2/docs/more.html", html_page("More", "Even more."))
    assert docs_client.add(f"{site.url}/docs/").pages == 2


def test_a_redirect_to_a_page_outside_the_source_is_not_followed(docs_client: DocsClient, site: Site) -> None:
    site.html("/docs/", html_page("Docs", "The manual.", "out.html"))
    site.redirect("/docs/out.html", "/blog/")
    site.html("/blog/", html_page("Blog", "Elsewhere."))
    assert docs_client.add(f"{site.url}/docs/").pages == 1


def test_canonical_meta_refresh_and_noindex_are_respected(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "a/index.html", "moved.html", "hidden.html", "wrong.html"))
    site.html("/a/index.html", f"<head><link rel=canonical href='{site.url}/a/'></head>" + html_page("A", "Alpha."))
    site.html("/a/", html_page("A", "Alpha."))
    site.html("/moved.html", "<meta http-equiv=refresh content='0;url=target.html'>")
    site.html("/target.html", html_page("Target", "Arrived."))
    site.html("/hidden.html", "<meta name=robots content=noindex>" + html_page("Hidden", "Do not show.", "behind.html"))
    site.html("/behind.html", html_page("Behind", "Linked from a hidden page."))
    site.html("/wrong.html", f"<link rel=canonical href='{site.url}/'>" + html_page("Wrong", "Claims to be the start."))
    assert docs_client.add(site.url).state == "READY"
    assert docs_client.find_citations("alpha") == [f"{site.url}/a/#top"]
    assert docs_client.find_citations("arrived") == [f"{site.url}/target.html#top"]
    assert docs_client.find_citations("linked from a hidden page")[0] == f"{site.url}/behind.html#top"
    assert docs_client.find_citations("claims") == [f"{site.url}/wrong.html#top"]
    assert all("hidden.html" not in url for url in docs_client.find_citations("do not show"))


def test_a_folder_url_and_its_index_page_are_the_same_page(docs_client: DocsClient, site: Site) -> None:
    site.html("/docs/", html_page("Start", "Welcome.", "index.html", "a/", "b/index.html#top"))
    site.html("/docs/index.html", html_page("Start", "Welcome, at another time."))
    site.html("/docs/a/", html_page("A", "Alpha.", "../b/", "index.html", "../index.html"))
    site.html("/docs/b/", html_page("B", "Bravo."))
    site.text("/docs/sitemap.xml", f"<urlset><url><loc>{site.url}/docs/b/index.html</loc></url></urlset>", "text/xml")
    status = docs_client.add(f"{site.url}/docs/")
    assert (status.state, status.pages, status.pages_skipped) == ("READY", 3, 0)
    assert docs_client.find_citations("bravo") == [f"{site.url}/docs/b/#top"]
    assert not [path for path in site.asked if path.endswith("index.html")]


def test_a_start_page_that_is_an_index_page_keeps_its_url(docs_client: DocsClient, site: Site) -> None:
    site.html("/docs/index.html", html_page("Start", "Welcome.", "./", "a.html"))
    site.html("/docs/", html_page("Start", "Welcome."))
    site.html("/docs/a.html", html_page("A", "Alpha.", "index.html", "/docs/"))
    assert docs_client.add(f"{site.url}/docs/index.html").pages == 2
    assert docs_client.find_citations("welcome")[0] == f"{site.url}/docs/index.html#top"
    assert "/docs/" not in site.asked


def test_an_index_page_is_read_if_its_folder_redirects_to_it(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "sent/index.html", "moved/index.html", "gone/"))
    for name, text in (("sent", "Bravo."), ("moved", "Charlie.")):
        site.html(f"/{name}/index.html", html_page(name.title(), text, "../"))
    site.redirect("/sent/", "/sent/index.html")
    site.html("/moved/", "<meta http-equiv=refresh content='0;url=index.html'>")
    for _ in range(2):
        status = docs_client.add(site.url) if not docs_client.docs.library.sources() else docs_client.recrawl("site")
        assert [failure.url for failure in status.failures] == [f"{site.url}/gone/"]
        assert status.pages == 3
    for word, name in (("bravo", "sent"), ("charlie", "moved")):
        assert docs_client.find_citations(word) == [f"{site.url}/{name}/index.html#top"]


def test_a_crawl_of_an_endless_calendar_ends(docs_client: DocsClient, site: Site) -> None:
    for month in range(200):
        site.html(f"/cal?month={month}", html_page(f"Month {month}", "Nothing happens.", f"/cal?month={month + 1}"))
    site.html("/cal", html_page("Calendar", "Nothing happens.", "/cal?month=0"))
    status = docs_client.add(f"{site.url}/cal", max_pages=1000)
    assert status.pages <= 40


def test_page_and_depth_limits_are_respected_and_reported(docs_client: DocsClient, site: Site) -> None:
    for number in range(12):
        site.html(f"/{number}.html", html_page(f"Page {number}", "Text.", f"{number + 1}.html"))
    limited = docs_client.add(f"{site.url}/0.html", name="few", max_pages=5)
    assert (limited.pages, "the limit of 5 pages was reached" in limited.reason) == (5, True)
    docs_client.docs.library.remove("few")
    shallow = docs_client.add(f"{site.url}/0.html", name="shallow", max_depth=2)
    assert shallow.pages == 3
    docs_client.docs.library.remove("shallow")
    whole = docs_client.add(f"{site.url}/0.html", name="whole")
    assert (whole.pages, whole.reason) == (12, "")


def test_globs_select_pages(docs_client: DocsClient, site: Site) -> None:
    site.html("/docs/", html_page("Docs", "The manual.", "a.html", "old/b.html", "/api/c.html"))
    site.html("/docs/a.html", html_page("A", "Alpha."))
    site.html("/docs/old/b.html", html_page("B", "Beta."))
    site.html("/api/c.html", html_page("C", "Gamma."))
    status = docs_client.add(f"{site.url}/docs/", include=("/docs/*", "/api/*"), exclude=("*/old/*",))
    assert status.pages == 3
    assert "/docs/old/b.html" not in site.asked


def test_an_api_description_found_by_a_crawl_is_added_to_the_apis(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "openapi.json", "data.json"))
    site.text("/openapi.json", '{"openapi": "3.1.0"}', "application/json")
    site.text("/data.json", "{}", "application/json")
    status = docs_client.add(site.url)
    assert list(docs_client.descriptions.added) == ["openapi"]
    assert (status.state, status.pages_skipped) == ("READY", 2)


def test_hostile_pages_are_counted_and_the_others_are_indexed(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "bomb.html", "cut.html", "latin.html", "mess.html", "circle.html"))
    site.pages["/bomb.html"] = Page(
        gzip.compress(bytes(30_000_000)), headers={"Content-Encoding": "gzip", "Content-Type": "text/html"}
    )
    site.pages["/cut.html"] = Page(b"x" * 1000, headers={"Content-Type": "text/html"}, cut_after=10)
    site.pages["/latin.html"] = Page(
        "<h1>Prüfung</h1><p>Größe</p>".encode("latin-1"), headers={"Content-Type": "text/html; charset=utf-8"}
    )
    site.pages["/mess.html"] = Page(
        b"<table><p><b><td></i>unclosed <h2>still <a href='http://[x'>readable", headers={"Content-Type": "text/html"}
    )
    site.redirect("/circle.html", "/circle.html")
    status = docs_client.add(site.url)
    reasons = {place.url.rpartition("/")[2]: place.reason for place in status.failures}
    assert set(reasons) == {"bomb.html", "cut.html", "circle.html"}
    assert "larger than" in reasons["bomb.html"]
    assert docs_client.find_citations("größe") == [f"{site.url}/latin.html"]
    assert docs_client.find_citations("still readable") == [f"{site.url}/mess.html"]


def test_a_page_without_text_is_a_failure_with_a_reason(docs_client: DocsClient, site: Site) -> None:
    site.html("/", "<html><head><script src='app.js'></script></head><body><div id='root'></div></body></html>")
    status = docs_client.add(f"{site.url}/")
    assert status.state == "FAILED"
    assert "no text without running scripts" in status.reason


def test_the_failure_reason_names_a_start_page_that_is_not_text(docs_client: DocsClient, site: Site) -> None:
    site.text("/", "\0\1", "application/octet-stream")
    assert docs_client.add(f"{site.url}/").reason == "not text (application/octet-stream)"


def test_a_page_that_says_it_does_not_exist_is_skipped_although_the_status_is_200(
    docs_client: DocsClient, site: Site
) -> None:
    site.html("/", html_page("Start", "Welcome.", "gone.html", "errors.html"))
    site.html("/gone.html", html_page("404: Page not found", "Return to the quokka."))
    site.html("/errors.html", html_page("404 Not Found", "What a quokka does about this error. " * 40))
    status = docs_client.add(site.url)
    assert [each.reason for each in status.skipped] == ["the page says that it does not exist"]
    assert docs_client.find_citations("quokka") == [f"{site.url}/errors.html#top"]
