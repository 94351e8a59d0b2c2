"""A crawl whose process ended continues where it stopped."""

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
from tests.domains.docs.test_website import html_page
from tests.loopback import LOOPBACK, Page
from tests.server.raw import RawClient, environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.domains.docs.library import Library
    from tests.domains.docs.conftest import DocsClient
    from tests.loopback import Site

COMMAND = [sys.executable, "-c", "import sys; from deltos.cli.main import main; sys.exit(main(sys.argv[1:]))"]
SERVER_COMMAND = [
    sys.executable,
    "-c",
    "import sys; from deltos.server.startup import main; sys.exit(main(sys.argv[1:]))",
]
PRIVATE_HOST_SETTINGS = {"DELTOS_ALLOW_PRIVATE_HOSTS": "127.0.0.1", "DELTOS_EMBED": "off"}


class Gate:
    """Pages that are answered once the gate opens."""

    def __init__(self) -> None:
        self.requested = threading.Event()
        self.open = threading.Event()

    def gated_page(self, title: str) -> Page:
        self.requested.set()
        self.open.wait(60)
        return Page(html_page(title, f"{title} has a text.").encode(), headers={"Content-Type": "text/html"})


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    app = App(Config(home=tmp_path / "home", private_hosts=LOOPBACK))
    yield app.domains.docs.library
    app.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def signal_while_reading(gate: Gate, home: Path, number: signal.Signals, *words: str) -> int:
    """Run a command, wait until it requests a gated page, and send it a signal; its stderr is saved in `messages.txt`."""
    gate.requested.clear()
    gate.open.clear()
    with home.with_name("messages.txt").open("wb") as messages:
        process = subprocess.Popen(
            [*COMMAND, "docs", *words],
            stdout=subprocess.DEVNULL,
            stderr=messages,
            env=environment(home, **PRIVATE_HOST_SETTINGS),
        )
        assert gate.requested.wait(60)
        process.send_signal(number)
        code = process.wait(60)
    gate.open.set()
    return code


def site_with_gated_page(site: Site, gate: Gate) -> None:
    """Create a start page, three quick pages and one that waits at the gate."""
    site.html("/", html_page("Start", "Welcome.", "a.html", "slow.html", "b.html"))
    site.html("/a.html", html_page("A", "Alpha text."))
    site.html("/b.html", html_page("B", "Beta text.", "c.html"))
    site.html("/c.html", html_page("C", "Gamma text."))
    site.pages["/slow.html"] = lambda _: gate.gated_page("Slow")


def test_a_killed_crawl_continues_where_it_stopped(site: Site, home: Path, library: Library) -> None:
    gate = Gate()
    site_with_gated_page(site, gate)
    assert (
        signal_while_reading(gate, home, signal.SIGKILL, "add", site.url, "--name", "site", "--wait") == -signal.SIGKILL
    )
    source = library.status("site").source
    assert library.status("site").state == "WAITING"
    assert library.crawls.resume() == [source.id]
    library.crawls.wait(source.id)
    assert (library.status("site").state, library.status("site").pages) == ("READY", 5)


def test_a_full_recrawl_discards_the_pages_of_an_unfinished_crawl(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "a.html"))
    site.html("/a.html", html_page("A", "Alpha text.", "b.html"))
    site.html("/b.html", html_page("B", "Beta text."))
    source_id, crawls = docs_client.begin(site.url), docs_client.docs.library.crawls
    crawls.run(source_id, lambda: crawls._stop.set() if site.asked["/b.html"] else None)
    crawls._stop.clear()
    assert docs_client.docs.library.status(source_id).state == "WAITING"
    site.html("/", html_page("Start", "Welcome."))
    assert not docs_client.docs.library.recrawl("site", full=True).is_continued
    assert docs_client.crawl(source_id).pages == 1
    assert docs_client.search("alpha") == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_crawl_ended_by_a_termination_signal_is_resumed(
    site: Site, home: Path, library: Library, number: signal.Signals
) -> None:
    gate = Gate()
    site_with_gated_page(site, gate)
    signal_while_reading(gate, home, number, "add", site.url, "--name", "site", "--wait")
    status = library.status("site")
    assert status.state == "WAITING"
    messages = home.with_name("messages.txt").read_text()
    assert ("`deltos docs crawl site` resumes it." in messages) is (number == signal.SIGINT)
    assert library.crawls.resume() == [status.source.id]
    library.crawls.wait(status.source.id)
    assert (library.status("site").state, library.status("site").pages) == ("READY", 5)


def test_a_crawl_can_be_stopped_while_it_waits_for_robots_txt(site: Site, home: Path, library: Library) -> None:
    gate = Gate()
    site.pages["/robots.txt"] = lambda _: gate.gated_page("robots")
    signal_while_reading(gate, home, signal.SIGTERM, "add", site.url, "--name", "site", "--wait")
    assert library.status("site").state == "WAITING"


def test_a_server_continues_a_killed_crawl(site: Site, home: Path) -> None:
    gate = Gate()
    site_with_gated_page(site, gate)
    signal_while_reading(gate, home, signal.SIGKILL, "add", site.url, "--name", "site", "--wait")
    client = RawClient(SERVER_COMMAND, home=home, DELTOS_ALLOW_PRIVATE_HOSTS="127.0.0.1", DELTOS_EMBED="off")
    client.initialize()
    client.text("list_sources")
    follow = subprocess.run(
        [*COMMAND, "docs", "status", "site", "--follow"],
        env=environment(home, **PRIVATE_HOST_SETTINGS), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "READY" in follow.stdout
    assert "Alpha text" in client.text("search_docs", query="alpha", source="site")
    client.shut_down()


def test_a_crawl_whose_child_processes_end_early_is_not_complete(tmp_path: Path, home: Path) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    for number in range(200):
        (pages / f"{number}.md").write_text(f"# Page {number}\n\nIt has a text.\n")
    with closing(App(Config(home))) as app:
        library = app.domains.docs.library
        (source,) = library.add(NewSource(str(pages), "docs", tmp_path, (tmp_path,))).sources
        assert library.crawls.run(source.id, report=app.domains.workers.close)  # as when the program ends
        crawl = library.crawls.store.crawl(source.id)
        assert crawl is not None
        assert crawl.state == "open"
        assert library.crawls.store.address_counts(source.id)["queued"]
    with closing(App(Config(home))) as app:
        library = app.domains.docs.library
        assert library.crawls.run(source.id)
        assert library.crawls.store.address_counts(source.id) == {"done": 200}
