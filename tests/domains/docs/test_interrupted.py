"""A crawl whose process was killed is reported with the pages it was reading, and continues only on request."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.domains.docs.library import NewSource
from tests.domains.docs.test_website import page
from tests.loopback import LOOPBACK, Page
from tests.server.raw import RawClient, environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.domains.docs.library import Library
    from tests.domains.docs.conftest import Desk
    from tests.loopback import Site

COMMAND = [sys.executable, "-c", "import sys; from deltos.cli.main import main; sys.exit(main(sys.argv[1:]))"]
SERVE = [sys.executable, "-c", "import sys; from deltos.server.startup import main; sys.exit(main(sys.argv[1:]))"]
ALLOWED = {"DELTOS_ALLOW_PRIVATE_HOSTS": "127.0.0.1", "DELTOS_EMBED": "off"}


class Gate:
    """Pages that are answered once the gate opens. Records the order of requests and how many were concurrent."""

    def __init__(self) -> None:
        self.requested = threading.Event()
        self.open = threading.Event()
        self.order: list[str] = []
        self.watched: set[str] = set()
        self.max_concurrent_watched = 0
        self._in_progress: list[str] = []

    def page(self, title: str) -> Page:
        self._in_progress.append(title)
        if title in self.watched:
            self.max_concurrent_watched = max(self.max_concurrent_watched, len(self._in_progress))
        self.order.append(title)
        self.requested.set()
        self.open.wait(60)
        self._in_progress.remove(title)
        return Page(page(title, f"{title} has a text.").encode(), headers={"Content-Type": "text/html"})


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    app = App(Config(home=tmp_path / "home", private_hosts=LOOPBACK))
    yield app.domains.docs.library
    app.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def kill_while_reading(gate: Gate, home: Path, number: signal.Signals, *words: str) -> int:
    """Run a command, wait until it requests a gated page, and send it a signal; its stderr is saved in `messages.txt`."""
    gate.requested.clear()
    gate.open.clear()
    with home.with_name("messages.txt").open("wb") as messages:
        process = subprocess.Popen(
            [*COMMAND, "docs", *words],
            stdout=subprocess.DEVNULL,
            stderr=messages,
            env=environment(home, **ALLOWED),
        )
        assert gate.requested.wait(60)
        process.send_signal(number)
        code = process.wait(60)
    gate.open.set()
    return code


def gated_site(site: Site, gate: Gate) -> None:
    """Create a start page, three quick pages and one that waits at the gate."""
    site.html("/", page("Start", "Welcome.", "a.html", "slow.html", "b.html"))
    site.html("/a.html", page("A", "Alpha text."))
    site.html("/b.html", page("B", "Beta text.", "c.html"))
    site.html("/c.html", page("C", "Gamma text."))
    site.pages["/slow.html"] = lambda _: gate.page("Slow")


def test_a_killed_crawl_is_reported_and_continues_only_on_request(site: Site, home: Path, library: Library) -> None:
    gate = Gate()
    gated_site(site, gate)
    assert (
        kill_while_reading(gate, home, signal.SIGKILL, "add", site.url, "--name", "site", "--wait") == -signal.SIGKILL
    )
    status = library.status("site")
    assert status.state == "INTERRUPTED"
    assert f"{site.url}/slow.html" in status.reading_when_died
    assert f"while it read {site.url}/" in status.reason
    assert "recrawl_source (deltos docs recrawl site) goes on" in status.reason
    assert library.crawls.resume() == []
    assert not library.crawls.run(status.source.id)
    recrawl = library.recrawl("site", full=False)
    assert recrawl.is_continued
    assert library.status("site").state == "WAITING"
    assert library.crawls.run(recrawl.source.id)
    assert (library.status("site").state, library.status("site").pages) == ("READY", 5)


def test_pages_that_were_being_read_at_a_crash_are_read_last_and_one_at_a_time(
    site: Site, home: Path, library: Library
) -> None:
    gate = Gate()
    names = [f"page{number}" for number in range(9)]
    site.html("/", page("Start", "Welcome.", *(f"{name}.html" for name in names)))
    for name in names:
        site.pages[f"/{name}.html"] = lambda _, name=name: gate.page(name)  # type: ignore[misc]
    kill_while_reading(gate, home, signal.SIGKILL, "add", site.url, "--name", "site", "--wait")
    suspects = {url.rpartition("/")[2].removesuffix(".html") for url in library.status("site").reading_when_died}
    assert suspects < set(names)
    gate.order.clear()
    gate.watched = suspects
    library.crawls.run(library.recrawl("site", full=False).source.id)
    assert set(gate.order[-len(suspects) :]) == suspects
    assert gate.max_concurrent_watched == 1
    assert library.status("site").pages == 10


def test_a_page_that_was_being_read_at_two_crashes_is_skipped(site: Site, home: Path, library: Library) -> None:
    gate = Gate()
    gated_site(site, gate)
    kill_while_reading(gate, home, signal.SIGKILL, "add", site.url, "--name", "site", "--wait")
    kill_while_reading(gate, home, signal.SIGKILL, "recrawl", "site", "--wait")
    assert library.status("site").reading_when_died == (f"{site.url}/slow.html",)
    library.crawls.run(library.recrawl("site", full=False).source.id)
    status = library.status("site")
    assert (status.state, status.pages) == ("READY with failures", 4)
    assert [place.url for place in status.failures] == [f"{site.url}/slow.html"]
    assert "died twice" in status.failures[0].reason
    library.crawls.run(library.recrawl("site", full=False).source.id)
    assert (library.status("site").state, library.status("site").pages) == ("READY", 5)


def test_a_full_recrawl_discards_the_pages_of_an_unfinished_crawl(desk: Desk, site: Site) -> None:
    site.html("/", page("Start", "Welcome.", "a.html"))
    site.html("/a.html", page("A", "Alpha text.", "b.html"))
    site.html("/b.html", page("B", "Beta text."))
    source_id, crawls = desk.begin(site.url), desk.docs.library.crawls
    crawls.run(source_id, lambda: crawls._stop.set() if site.asked["/b.html"] else None)
    crawls._stop.clear()
    assert desk.docs.library.status(source_id).state == "WAITING"
    site.html("/", page("Start", "Welcome."))
    assert not desk.docs.library.recrawl("site", full=True).is_continued
    assert desk.crawl(source_id).pages == 1
    assert desk.search("alpha") == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_crawl_ended_by_a_termination_signal_is_resumed(
    site: Site, home: Path, library: Library, number: signal.Signals
) -> None:
    gate = Gate()
    gated_site(site, gate)
    kill_while_reading(gate, home, number, "add", site.url, "--name", "site", "--wait")
    status = library.status("site")
    assert status.state == "WAITING"
    messages = home.with_name("messages.txt").read_text()
    assert ("`deltos docs crawl site` resumes it." in messages) is (number == signal.SIGINT)
    assert library.crawls.resume() == [status.source.id]
    library.crawls.wait(status.source.id)
    assert (library.status("site").state, library.status("site").pages) == ("READY", 5)


def test_a_crawl_can_be_stopped_while_it_waits_for_robots_txt(site: Site, home: Path, library: Library) -> None:
    gate = Gate()
    site.pages["/robots.txt"] = lambda _: gate.page("robots")
    kill_while_reading(gate, home, signal.SIGTERM, "add", site.url, "--name", "site", "--wait")
    assert library.status("site").state == "WAITING"


def test_a_server_reports_a_killed_crawl_and_continues_it_on_request(site: Site, home: Path) -> None:
    gate = Gate()
    gated_site(site, gate)
    kill_while_reading(gate, home, signal.SIGKILL, "add", site.url, "--name", "site", "--wait")
    requested = site.asked.total()
    client = RawClient(SERVE, home=home, DELTOS_ALLOW_PRIVATE_HOSTS="127.0.0.1", DELTOS_EMBED="off")
    client.initialize()
    for tool, arguments in (("list_sources", {}), ("crawl_status", {"source_id": "site"})):
        text = client.text(tool, **arguments)
        assert "INTERRUPTED" in text
        assert f"{site.url}/slow.html" in text
        assert "recrawl_source" in text
    assert "site was not read to its end; recrawl_source goes on" in client.text("search_docs", query="alpha")
    assert site.asked.total() == requested
    assert "Going on with the crawl of site" in client.text("recrawl_source", source_id="site")
    follow = subprocess.run(
        [*COMMAND, "docs", "status", "site", "--follow"],
        env=environment(home, **ALLOWED), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "READY" in follow.stdout
    assert "Alpha text" in client.text("search_docs", query="alpha")
    client.dismiss()


def test_a_crawl_whose_child_processes_end_early_is_not_complete(tmp_path: Path, home: Path) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    for number in range(200):
        (pages / f"{number}.md").write_text(f"# Page {number}\n\nIt has a text.\n")
    with closing(App(Config(home))) as app:
        library = app.domains.docs.library
        (source,) = library.add(NewSource(str(pages), "docs", tmp_path, (tmp_path,))).sources
        assert library.crawls.run(source.id, report=app.domains.workers.close)  # as at the end of a program
        crawl = library.crawls.store.crawl(source.id)
        assert crawl is not None
        assert crawl.state == "open"
        assert library.crawls.store.address_counts(source.id)["queued"]
    with closing(App(Config(home))) as app:
        library = app.domains.docs.library
        assert library.crawls.run(source.id)
        assert library.crawls.store.address_counts(source.id) == {"done": 200}
