"""While a page takes minutes to parse, others are answered, and the server exits on a signal."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.loopback import Page
from tests.pdfs import repeated_pdf
from tests.server.over_http.served import Served, rpc
from tests.server.raw import RawClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.loopback import Site

COMMAND = [sys.executable, "-P", "-m", "deltos", "mcp"]
WAIT_TIMEOUT_SECONDS = 30
POLL_SECONDS = 0.02  # poll rarely, to leave the CPU to the server
SLOW_PAGES = [f"slow{number}.pdf" for number in range(5)]
SLOW_PDF = repeated_pdf(pages=1_000, lines=2_000)


@pytest.fixture
def slow_site(site: Site) -> Site:
    """A start page that links to small PDF files, each of which takes minutes to parse."""
    links = "".join(f"<a href='{name}'>manual</a>" for name in SLOW_PAGES)
    site.html("/", f"<h1>Start</h1><p>Welcome to the {links}.</p>")
    for name in SLOW_PAGES:
        data = SLOW_PDF + f"% {name}".encode()
        site.pages[f"/{name}"] = Page(data, headers={"Content-Type": "application/pdf"})
    return site


def wait_until_parsing(ask: Callable[[], str], site: Site, server: int) -> set[Path]:
    """Wait until a slow page was fetched and a child process parses it; return the child processes of the server."""
    while True:
        assert "CRAWLING" in ask()
        children = children_of(server)
        if any(site.asked[f"/{name}"] for name in SLOW_PAGES) and any(map(cpu_ticks, children)):
            return children
        time.sleep(POLL_SECONDS)


def children_of(process: int) -> set[Path]:
    lists = Path(f"/proc/{process}/task").glob("*/children")
    return {Path("/proc", child) for path in lists for child in path.read_text().split()}


def cpu_ticks(process: Path) -> int:
    return int(process.joinpath("stat").read_text().rpartition(")")[2].split()[11])


pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="the test reads process information in /proc"
)


def test_calls_and_signals_are_handled_while_a_hostile_page_is_parsed(slow_site: Site, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    client = RawClient(
        [*COMMAND, str(project)], home=tmp_path / "home", DELTOS_ALLOW_PRIVATE_HOSTS="127.0.0.1", DELTOS_EMBED="off"
    )
    client.initialize()
    client.text("add_source", url=slow_site.url, name="site")
    children = wait_until_parsing(lambda: client.text("crawl_status", source_id="site"), slow_site, client.process.pid)
    for _ in range(5):
        assert client.request("ping")["result"] == {}
    assert "site" in client.text("list_sources")
    assert "CRAWLING" in client.text("crawl_status", source_id="site")
    client.process.terminate()
    assert client.process.wait(WAIT_TIMEOUT_SECONDS) == 0
    while any(child.exists() for child in children):  # child processes end with the server, before their task is done
        time.sleep(POLL_SECONDS)


def test_an_http_server_answers_others_while_a_hostile_page_is_parsed(slow_site: Site, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    command = [*COMMAND, str(project), "--http", "127.0.0.1:0"]
    server = Served(command, tmp_path / "home", DELTOS_ALLOW_PRIVATE_HOSTS="127.0.0.1", DELTOS_EMBED="off")
    session = server.open_session()
    server.text("add_source", session, url=slow_site.url, name="site")
    wait_until_parsing(lambda: server.text("crawl_status", session, source_id="site"), slow_site, server.process.pid)
    other = server.open_session()
    for _ in range(5):
        assert server.request(path="/healthz").message == {"status": "ok"}
        assert server.post(rpc("ping"), other).message["result"] == {}
    assert "CRAWLING" in server.text("crawl_status", other, source_id="site")
    server.process.terminate()
    assert server.process.wait(WAIT_TIMEOUT_SECONDS) == 0
    server.shut_down()
