"""Crawls can be interrupted, resumed, cancelled and repeated; readers always see a complete index."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from deltos.domains.docs.background_crawls import BackgroundCrawls
from deltos.domains.docs.crawl import Frontier
from deltos.domains.docs.domain import open_docs
from deltos.errors import BadArgument, NotFound, StoreUnwritable
from deltos.open_stores import open_library
from deltos.store.documents import CrawlAddress
from tests.domains.docs.test_website import html_page
from tests.loopback import LOOPBACK, Page

if TYPE_CHECKING:
    from pathlib import Path

    from tests.domains.docs.conftest import DocsClient
    from tests.loopback import Site


def create_page_chain(site: Site, length: int) -> None:
    """Create pages that each link only to the next page."""
    for number in range(length):
        site.html(f"/{number}.html", html_page(f"Page {number}", f"Number{number} of the chain.", f"{number + 1}.html"))


def test_a_stopped_crawl_continues_where_it_stopped(docs_client: DocsClient, site: Site) -> None:
    create_page_chain(site, 6)
    source_id = docs_client.begin(f"{site.url}/0.html", max_pages=6)
    crawls = docs_client.docs.library.crawls

    def stop_after_three() -> None:
        if sum(site.asked[f"/{number}.html"] > 0 for number in range(6)) > 3:
            crawls._stop.set()

    crawls.run(source_id, stop_after_three)
    status = docs_client.docs.library.status(source_id)
    assert status.state == "WAITING"
    assert docs_client.search("chain") == []
    crawls._stop.clear()
    assert docs_client.crawl(source_id).pages == 6
    assert [site.asked[f"/{number}.html"] for number in range(1, 4)] == [1, 1, 1]


def test_unfinished_crawls_are_resumed_in_the_background(docs_client: DocsClient, site: Site) -> None:
    create_page_chain(site, 3)
    source_id = docs_client.begin(f"{site.url}/0.html", max_pages=3)
    crawls = docs_client.docs.library.crawls
    assert crawls.resume() == [source_id]
    crawls.start(source_id)
    crawls.wait(source_id)
    assert docs_client.docs.library.status(source_id).state == "READY"
    assert crawls.resume() == []
    crawls.wait("nothing")


def test_a_source_has_at_most_one_running_crawl(docs_client: DocsClient, site: Site) -> None:
    create_page_chain(site, 1)
    source_id = docs_client.begin(f"{site.url}/0.html")
    crawls = docs_client.docs.library.crawls
    with crawls.store.try_lock(source_id) as held:
        assert held
        assert not crawls.run(source_id)
        assert docs_client.docs.library.status(source_id).state == "CRAWLING"
    assert crawls.run(source_id)


def test_a_recrawl_reads_only_changed_pages(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "a.html", "b.html"))
    site.html("/a.html", html_page("A", "Alpha text."))
    site.html("/b.html", html_page("B", "Beta text."))
    docs_client.add(site.url)
    site.html("/a.html", html_page("A", "Omega text.", "new.html"))
    site.html("/new.html", html_page("New", "Fresh text."))
    del site.pages["/b.html"]
    status = docs_client.recrawl()
    assert (status.state, status.pages_done, status.pages_unchanged, status.pages_skipped) == ("READY", 2, 1, 1)
    assert docs_client.find_citations("omega") == [f"{site.url}/a.html#top"]
    assert docs_client.find_citations("fresh") == [f"{site.url}/new.html#top"]
    assert docs_client.find_citations("alpha") == docs_client.find_citations("beta") == []


def test_unchanged_content_is_detected_without_http_validators(docs_client: DocsClient, site: Site) -> None:
    site.pages["/"] = Page(html_page("Start", "Welcome.").encode(), headers={"Content-Type": "text/html"})
    docs_client.add(site.url)
    status = docs_client.recrawl()
    assert (status.pages_done, status.pages_unchanged) == (0, 1)


def test_every_recrawl_requests_a_missing_page_once(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "later.html"))
    docs_client.add(site.url)
    assert docs_client.recrawl().state == "READY with failures"
    assert site.asked["/later.html"] == 2
    site.html("/later.html", html_page("Later", "Here now.", "next.html"))
    site.html("/next.html", html_page("Next", "Followed from there."))
    assert docs_client.recrawl().state == "READY"
    assert docs_client.find_citations("here now") == [f"{site.url}/later.html#top"]
    assert docs_client.find_citations("followed") == [f"{site.url}/next.html#top"]
    assert site.asked["/later.html"] == 3


def test_a_recrawl_reports_the_latest_reason_of_a_failure(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "later.html"))
    first = docs_client.add(site.url)
    site.pages["/later.html"] = Page(status=500)
    second = docs_client.recrawl()
    reasons = [status.failures[0].reason for status in (first, second)]
    assert "404" in reasons[0]
    assert "500" in reasons[1]
    site.html("/later.html", html_page("Later", "Here now."))
    assert docs_client.recrawl().state == "READY"
    assert docs_client.find_citations("here now") == [f"{site.url}/later.html#top"]


def test_pages_that_were_empty_or_filled_by_a_script_are_requested_again(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "empty.html", "app.html"))
    site.html("/empty.html", "<html><body></body></html>")
    site.html("/app.html", "<html><body><div id=root></div><script src=app.js></script></body></html>")
    first = docs_client.add(site.url)
    assert any("no text without running scripts" in each.reason for each in first.skipped)
    again = docs_client.recrawl()
    assert (again.skipped, again.pages_skipped) == (first.skipped, 2)
    assert (site.asked["/empty.html"], site.asked["/app.html"]) == (2, 2)
    site.html("/empty.html", html_page("Filled", "Words at last."))
    site.html("/app.html", html_page("Rendered", "The server writes it."))
    last = docs_client.recrawl()
    assert (last.pages_skipped, last.pages) == (0, 3)
    assert docs_client.find_citations("words at last") == [f"{site.url}/empty.html#top"]


def test_urls_without_a_page_are_requested_again_with_validators(docs_client: DocsClient, site: Site) -> None:
    names = ("empty.html", "hidden.html", "old.html", "picture")
    site.html("/", html_page("Start", "Welcome.", *names))
    listed = f"<urlset><url><loc>{site.url}/picture</loc></url></urlset>"  # pages that are not text are requested again if they are listed
    site.text("/sitemap.xml", listed, "text/xml")
    site.html("/empty.html", "<html><body></body></html>")
    site.html("/hidden.html", "<meta name=robots content=noindex>" + html_page("Hidden", "Do not show."))
    site.redirect("/old.html", "/out/")
    site.html("/out/", html_page("Out", "Elsewhere."))
    site.html("/picture", "dots", **{"Content-Type": "image/x-dots"})
    first = docs_client.add(site.url, exclude=("/out/*",))
    again = docs_client.recrawl()
    for name in ("empty.html", "hidden.html", "out/", "picture"):
        assert "if-none-match" in site.request_headers[f"/{name}"], name
        assert site.asked[f"/{name}"] == 2, name
    assert (again.skipped, again.failures, again.state) == (first.skipped, first.failures, first.state)
    for name in ("empty.html", "hidden.html"):
        site.html(f"/{name}", html_page("Filled", f"Words of {name} at last."))
    assert docs_client.recrawl().state == "READY"
    assert docs_client.recrawl().pages == 3
    assert docs_client.recrawl(full=True).skipped[0].reason.startswith(("not text", "redirects to"))


def test_a_different_page_with_the_same_validators_is_read(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "old.html"))
    site.redirect("/old.html", "/a.html")
    site.html("/a.html", html_page("A", "Alpha."))
    site.html("/b.html", html_page("A", "Alpha."))
    docs_client.add(site.url, exclude=("/a.html",))
    site.redirect("/old.html", "/b.html")
    assert docs_client.recrawl().pages == 2
    assert docs_client.find_citations("alpha") == [f"{site.url}/b.html#top"]
    site.html("/old.html", html_page("A", "Alpha."))
    assert docs_client.recrawl().pages == 3


def test_a_deleted_page_is_requested_again_while_it_is_linked(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "a.html"))
    site.html("/a.html", html_page("A", "Alpha text."))
    docs_client.add(site.url)
    del site.pages["/a.html"]
    for _ in range(2):
        status = docs_client.recrawl()
        assert (status.state, [each.reason for each in status.skipped]) == ("READY", ["gone"])
    site.html("/a.html", html_page("A", "Alpha is back."))
    assert docs_client.recrawl().state == "READY"
    assert docs_client.find_citations("alpha back") == [f"{site.url}/a.html#top"]
    del site.pages["/a.html"]
    site.html("/", html_page("Start", "Welcome, alone."))
    docs_client.recrawl()
    asked = site.asked["/a.html"]
    assert docs_client.recrawl().pages_skipped == 0
    assert site.asked["/a.html"] == asked


def test_binary_content_is_not_fetched_again(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "big"))
    site.pages["/big"] = Page(b"\0" * 100, headers={"Content-Type": "application/octet-stream"})
    docs_client.add(site.url)
    docs_client.recrawl()
    assert site.asked["/big"] == 1


def test_a_recrawl_updates_api_descriptions(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "shop.json"))
    headers = {"Content-Type": "application/json"}
    site.pages["/shop.json"] = Page(b'{"openapi": "3.0.0", "paths": {}}', headers=headers)
    docs_client.add(site.url)
    changed = b'{"openapi": "3.0.0", "paths": {"/orders": {}}}'
    site.pages["/shop.json"] = Page(changed, headers=headers)
    docs_client.recrawl()
    assert docs_client.descriptions.added["shop"].data == changed


def test_urls_without_incoming_links_are_dropped_at_the_page_limit(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "a.html", "b.html"))
    docs_client.add(site.url, max_pages=3)
    site.html("/", html_page("Start", "Welcome anew.", "c.html", "d.html"))
    for name in "cd":
        site.html(f"/{name}.html", html_page(name, f"Text of {name}."))
    docs_client.recrawl()
    assert docs_client.recrawl().pages == 1
    site.html("/", html_page("Start", "Welcome once more.", "c.html", "d.html"))
    assert docs_client.recrawl().pages == 3


def test_a_full_recrawl_reads_everything_again(docs_client: DocsClient, site: Site) -> None:
    create_page_chain(site, 3)
    docs_client.add(f"{site.url}/0.html", max_pages=3)
    status = docs_client.recrawl(full=True)
    assert (status.pages_done, status.pages_unchanged, status.pages) == (3, 0, 3)


def test_readers_see_the_old_index_until_the_new_one_is_complete(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Old words.", "a.html"))
    site.html("/a.html", html_page("A", "Alpha text."))
    docs_client.add(site.url)
    site.html("/", html_page("Start", "New words.", "a.html"))
    seen: list[tuple[int, int]] = []
    source_id = docs_client.docs.library.recrawl("site", full=True).source.id
    docs_client.docs.library.crawls.run(
        source_id, lambda: seen.append((len(docs_client.find_citations("old")), len(docs_client.find_citations("new"))))
    )
    assert seen
    assert set(seen) == {(1, 0)}
    assert (docs_client.find_citations("old"), len(docs_client.find_citations("new"))) == ([], 1)


def test_a_page_that_fails_on_recrawl_keeps_its_old_text(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "a.html"))
    site.html("/a.html", html_page("A", "Alpha text."))
    docs_client.add(site.url)
    site.pages["/a.html"] = Page(status=500)
    assert docs_client.recrawl().state == "READY with failures"
    assert docs_client.find_citations("alpha") == [f"{site.url}/a.html#top"]
    site.html("/a.html", html_page("A", "Alpha again."))
    assert docs_client.recrawl().state == "READY"
    assert docs_client.search("again")[0].text == "Alpha again."


def test_an_unreachable_source_keeps_its_old_index(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome."))
    docs_client.add(site.url)
    site.pages["/"] = Page(status=500)
    status = docs_client.recrawl()
    assert status.state == "READY with failures" or status.state == "READY (last crawl failed)"
    assert docs_client.find_citations("welcome") == [f"{site.url}/#top"]


def test_a_crawl_can_be_cancelled_while_it_runs(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Old words."))
    docs_client.add(site.url)
    site.html("/", html_page("Start", "New words.", "a.html"))
    site.html("/a.html", html_page("A", "Alpha."))
    library = docs_client.docs.library
    source_id = library.recrawl("site", full=True).source.id
    cancelled: list[bool] = []

    def cancel() -> None:
        if not cancelled:
            cancelled.append(library.cancel("site"))

    library.crawls.run(source_id, cancel)
    assert cancelled == [True]
    assert library.status("site").state == "READY"
    assert (len(docs_client.find_citations("old")), docs_client.find_citations("new")) == (1, [])
    assert not library.cancel("site")


def test_a_cancelled_first_crawl_leaves_no_pages(docs_client: DocsClient, site: Site) -> None:
    create_page_chain(site, 2)
    source_id = docs_client.begin(f"{site.url}/0.html")
    assert docs_client.docs.library.cancel(source_id)
    assert docs_client.docs.library.status(source_id).state == "CANCELLED"
    assert docs_client.recrawl().state.startswith("READY")


def test_removing_a_source_ends_its_crawl(docs_client: DocsClient, site: Site) -> None:
    create_page_chain(site, 4)
    source_id = docs_client.begin(f"{site.url}/0.html")
    removed: list[int] = []

    def remove() -> None:
        if not removed:
            removed.extend(gone.pages for gone in docs_client.docs.library.remove(source_id))

    docs_client.docs.library.crawls.run(source_id, remove)
    assert docs_client.docs.library.sources() == []
    with pytest.raises(NotFound):
        docs_client.docs.library.status(source_id)


def test_recrawling_while_crawling_is_refused(docs_client: DocsClient, site: Site) -> None:
    create_page_chain(site, 1)
    source_id = docs_client.begin(f"{site.url}/0.html")
    with (
        docs_client.docs.library.crawls.store.try_lock(source_id),
        pytest.raises(BadArgument, match="already being crawled"),
    ):
        docs_client.docs.library.recrawl("site", full=False)


def test_changed_links_of_another_page_update_the_link_text(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "a.html", "b.html"))
    site.html("/a.html", html_page("A", "Alpha text."))
    site.html("/b.html", "<h1>B</h1><p>See <a href='a.html#top'>the quokka chapter</a>.</p>")
    docs_client.add(site.url)
    assert docs_client.find_citations("quokka")[
        0
    ] == f"{site.url}/b.html" or f"{site.url}/a.html#top" in docs_client.find_citations("quokka")
    site.html("/b.html", "<h1>B</h1><p>See <a href='a.html#top'>the wombat chapter</a>.</p>")
    docs_client.recrawl()
    assert f"{site.url}/a.html#top" in docs_client.find_citations("wombat")
    assert docs_client.find_citations("quokka") == []


def test_an_error_of_the_parser_is_a_failure_of_one_page(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "strange.html"))
    site.html("/strange.html", html_page("Strange", "poison-raise"))
    status = docs_client.add(site.url)
    assert [place.reason for place in status.failures] == ["The page could not be parsed (RecursionError: too deep)"]


def test_a_full_disk_stops_the_crawl_which_can_be_resumed(docs_client: DocsClient, site: Site) -> None:
    site.html("/0.html", html_page("Long", "Many words of text. " * 5_000))
    source_id = docs_client.begin(f"{site.url}/0.html")
    connection = docs_client.store.database.read()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnwritable, match="full"):
        docs_client.docs.library.crawls.run(source_id)
    assert docs_client.docs.library.status(source_id).state == "WAITING"
    connection.execute("PRAGMA max_page_count = 1000000")
    assert docs_client.crawl(source_id).pages == 1


def test_an_error_in_a_crawl_thread_is_logged(
    docs_client: DocsClient, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    create_page_chain(site, 1)
    source_id = docs_client.begin(f"{site.url}/0.html")
    crawls = docs_client.docs.library.crawls
    crawls.opener = _FailingOpener(StoreUnwritable("Cannot write library.db"))  # type: ignore[assignment]
    crawls.start(source_id)
    crawls.wait(source_id)
    assert "Cannot write library.db" in caplog.text
    assert docs_client.docs.library.status(source_id).state == "WAITING"
    crawls.opener = _FailingOpener(KeyError("surprise"))  # type: ignore[assignment]
    crawls.start(source_id)
    crawls.wait(source_id)
    assert "surprise" in docs_client.docs.library.status(source_id).reason


class _FailingOpener:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def parser(self) -> None:
        pass

    def open(self, _source: object, _parser: object) -> object:
        raise self._error


def test_another_process_sees_the_crawl_and_its_pages(docs_client: DocsClient, site: Site, tmp_path: Path) -> None:
    create_page_chain(site, 2)
    library = open_library(tmp_path / "home")
    other = open_docs(library, apis=docs_client.descriptions, private_hosts=LOOPBACK)
    source_id = docs_client.begin(f"{site.url}/0.html", max_pages=2)
    states: list[str] = []
    docs_client.docs.library.crawls.run(source_id, lambda: states.append(other.library.status(source_id).state))
    assert set(states) == {"CRAWLING"}
    assert other.library.status(source_id).state == "READY"
    library.close()


def test_the_frontier_returns_urls_when_they_are_due() -> None:
    frontier = Frontier(3, 1, set())
    assert frontier.is_empty()
    assert [place.url for place in frontier.discover(["a", "b", "a"], 1)] == ["a", "b"]
    assert frontier.discover(["deep"], 2) == []
    assert frontier.discover(["c", "d"], 1) == [CrawlAddress("c", 1)]
    frontier.postpone(CrawlAddress("late"), 10.0)
    assert [frontier.take(0.0).url for _ in range(3)] == ["a", "b", "c"]  # type: ignore[union-attr]
    assert frontier.take(0.0) is None
    assert (frontier.seconds_to_wait(4.0), frontier.is_empty()) == (6.0, False)
    assert frontier.take(10.0) == CrawlAddress("late")
    assert frontier.seconds_to_wait(0.0) == 0.0


def test_the_store_rejects_rows_without_a_source(docs_client: DocsClient) -> None:
    index = docs_client.docs.library.crawls.index
    index.discard("nothing")
    with pytest.raises(sqlite3.Error):
        docs_client.store.database.read().execute(
            "INSERT INTO docs_place VALUES ('nothing', 'u', 0, 'queued', 0, '', '', '')"
        )
    assert isinstance(docs_client.docs.library.crawls, BackgroundCrawls)
