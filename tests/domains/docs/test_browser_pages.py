"""Pages that a script fills, rendered by a real Chromium whose requests are answered or refused."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.browser.process import Chromium, find_browser, remove_leftovers
from deltos.browser.render import Renderer, RenderLimits
from deltos.confinement import Confinement, confined
from deltos.domains.docs.browser_pages import BrowserRendering, CrawledSite
from deltos.errors import AddressRefused, Cancelled, Forbidden, MemoryLimitExceeded, SourceError, TimeLimitExceeded
from deltos.fetch.http import HttpClient, HttpResponse
from deltos.fetch.rate_limit import HostRateLimiter
from deltos.fetch.robots import Robots, parse_robots
from tests.domains.docs.conftest import FakeClock
from tests.loopback import LOOPBACK, Page, serving
from tests.platforms import lacks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.domains.docs.conftest import DocsClient
    from tests.loopback import Site

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="pages are not rendered on Windows"),
    pytest.mark.skipif(lacks("chromium") and lacks("google-chrome"), reason="Chromium is not installed"),
]

SHELL = "<html><head><title>App</title><script src='/app.js'></script></head><body><div id='root'></div></body></html>"
SCRIPT = """
onload = async () => {
  const told = []
  const ask = (url, options) => fetch(url, options).then(() => told.push('got'), () => told.push('refused'))
  const data = await (await fetch('/data.json')).json()
  await ask('ELSEWHERE/private')
  await ask('/moved')
  await ask('http://169.254.169.254/latest/meta-data/')
  await ask('file:///etc/passwd')
  await ask('/changed', {method: 'POST', body: 'x'})
  const worker = await navigator.serviceWorker.register('/worker.js').then(() => 'got', () => 'refused')
  root.innerHTML = `<h1>${data.title}</h1><p>The zebra setting is made by a script: ${told} ${worker}.</p>
    <a href="/second">second</a><iframe src="ELSEWHERE/frame"></iframe><img src="ELSEWHERE/picture.png">`
  new WebSocket('SOCKET/socket')
  window.open('ELSEWHERE/window')
}
"""


def page(body: bytes) -> HttpResponse:
    return HttpResponse("", 200, "text/html", "utf-8", body)


def running_browsers() -> list[str]:
    """Return the folders of running browsers."""
    return [path.name for path in Path(os.environ.get("TMPDIR", "/tmp")).glob("deltos-browser-*")]


@pytest.fixture
def app(site: Site) -> Iterator[tuple[Site, Site]]:
    """Yield a site whose pages are made by a script, and another site that the script tries to contact."""
    with serving() as elsewhere:
        socket = elsewhere.url.replace("http", "ws")
        script = SCRIPT.replace("ELSEWHERE", elsewhere.url).replace("SOCKET", socket)
        site.html("/", SHELL)
        site.html("/second", "<h1>Second</h1><p>Plain words about a giraffe.</p>")
        site.text("/app.js", script, "text/javascript")
        site.text("/data.json", '{"title": "Rendered guide"}', "application/json")
        site.redirect("/moved", f"{elsewhere.url}/moved-to")
        elsewhere.text("/moved-to", "private")
        site.text("/worker.js", "", "text/javascript")
        yield site, elsewhere


def test_a_page_filled_by_a_script_is_found_and_can_contact_only_its_site(
    docs_client: DocsClient, app: tuple[Site, Site]
) -> None:
    site, elsewhere = app
    before = running_browsers()
    status = docs_client.add(f"{site.url}/", browser=True)
    assert (status.state, status.pages_done, status.reason) == ("READY", 2, "")
    [passage] = docs_client.search("zebra setting")
    assert passage.section == "Rendered guide"
    assert passage.text.startswith(
        "The zebra setting is made by a script: refused,refused,refused,refused,refused refused."
    )
    assert docs_client.cited("giraffe") == [f"{site.url}/second"]
    assert set(elsewhere.asked) <= {
        "/moved-to"
    }  # the crawl may follow this redirect, but the script does not see its response
    assert "/changed" not in site.asked
    assert "/worker.js" not in site.asked
    assert running_browsers() == before


def test_without_a_browser_the_status_lists_pages_filled_by_scripts(
    docs_client: DocsClient, app: tuple[Site, Site]
) -> None:
    site, _ = app
    notice = "<script></script><p>{}</p>"
    site.html("/app", SHELL)
    site.html("/notice", notice.format("Please enable JavaScript."))
    site.html("/clients", notice.format("There are clients for Python, Go and JavaScript."))
    site.html(
        "/", "<h1>Start</h1><p>Words.</p><a href='/app'>app</a><a href='/notice'>a</a><a href='/clients'>clients</a>"
    )
    status = docs_client.add(f"{site.url}/")
    assert (status.state, status.pages_done) == ("READY", 2)
    assert docs_client.cited("clients for Go") == [f"{site.url}/clients"]
    (skipped,) = status.skipped
    assert (skipped.count, skipped.reason.startswith("no text without running scripts")) == (2, True)
    assert "--browser" in skipped.reason


def test_a_script_over_its_limits_is_stopped_with_its_browser(site: Site) -> None:
    before = running_browsers()
    client = HttpClient(private_hosts=LOOPBACK)
    renderer = Renderer(limits=RenderLimits(max_seconds=3.0))
    with pytest.raises(TimeLimitExceeded, match="more than 3 s"):
        renderer.render(f"{site.url}/", page(b"<script>onload = () => { for (;;) {} }</script>"), client.get)
    assert running_browsers() == before
    renderer.limits = RenderLimits(max_requests=5)
    many = b"<script>for (let n = 0; n < 50; n++) fetch('/' + n)</script>"
    with pytest.raises(SourceError, match="more than 5 requests"):
        renderer.render(f"{site.url}/", page(many), client.get)
    renderer.limits = RenderLimits(max_resident_bytes=1_000_000, max_requests=100_000)
    with pytest.raises(MemoryLimitExceeded, match="more than 1 MB of memory"):
        renderer.render(f"{site.url}/", page(b"<script>setInterval(() => fetch('/'), 20)</script>"), client.get)
    assert running_browsers() == before
    client.close()


@pytest.fixture
def fake_browser(tmp_path: Path) -> Path:
    """A fake browser that sends three messages in pieces and then waits."""
    script = tmp_path / "chromium"
    long = "head -c 200000 /dev/zero | tr '\\0' ' '"
    script.write_text(
        f'#!/bin/sh\n(printf \'{{"id":1}}\\0{{\'; {long}; printf \'"id":2}}\\0{{"id":3}}\\0{{\') >&4\nexec sleep 600 3<&- 4>&-\n'
    )
    script.chmod(0o755)
    return script


def test_browser_messages_split_at_any_point_are_reassembled(fake_browser: Path) -> None:
    browser = Chromium(str(fake_browser), max_resident_bytes=1_000_000_000)
    deadline = time.monotonic() + 60
    assert [browser.next_message(deadline) for _ in range(3)] == [{"id": 1}, {"id": 2}, {"id": 3}]
    with pytest.raises(SourceError, match="exited unexpectedly"):
        browser.next_message(deadline)
    browser.kill()


def test_no_browser_is_started_once_its_renderer_is_closed(site: Site, fake_browser: Path) -> None:
    class RendererClosedDuringStart(Renderer):
        def _start_browser(self) -> Chromium:
            started = super()._start_browser()
            self.close()
            return started

    before = running_browsers()
    closed = Renderer(str(fake_browser))
    closed.close()
    for renderer in (closed, RendererClosedDuringStart(str(fake_browser))):
        with pytest.raises(Cancelled):
            renderer.render(f"{site.url}/", page(b"<p>Words.</p>"), HttpClient().get)
        assert running_browsers() == before


def test_a_browser_is_given_by_its_full_path_or_found_in_absolute_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_browser().startswith("/"), "no browser found: run `make browser` to install one"
    (tmp_path / "chromium").write_text("#!/bin/sh\n")
    (tmp_path / "chromium").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".")
    with pytest.raises(SourceError, match="Chromium is not installed"):
        find_browser()
    with pytest.raises(SourceError, match="is not an executable program"):
        find_browser("chromium")
    assert find_browser(str(tmp_path / "chromium")) == str(tmp_path / "chromium")


def test_the_folder_of_a_browser_that_has_ended_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ended = subprocess.Popen(["true"])
    ended.wait()
    for name in (f"{ended.pid}-a", f"{os.getpid()}-b", "notes"):
        (tmp_path / f"deltos-browser-{name}" / "profile").mkdir(parents=True)
    remove_leftovers()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"deltos-browser-{os.getpid()}-b",
        "deltos-browser-notes",
    ]


def test_network_callers_can_use_a_browser_only_if_it_is_enabled(docs_client: DocsClient, site: Site) -> None:
    with (
        confined(Confinement((docs_client.root,))),
        pytest.raises(Forbidden, match="Rendering in a browser is disabled"),
    ):
        docs_client.begin(f"{site.url}/", browser=True)


class ScriptedBrowser:
    """A browser whose pages send the same requests every time."""

    def __init__(self, *paths: str) -> None:
        self.paths = paths
        self.allowed: list[float] = []

    def render(self, url: str, _page: HttpResponse, ask: Callable[[str], HttpResponse]) -> bytes:
        return b" ".join(ask(f"{url}{path}").body for path in self.paths)

    def extend_deadline(self, seconds: float) -> None:
        self.allowed.append(seconds)


def test_requests_of_pages_are_cached_and_respect_the_rate_limits_of_the_site(site: Site) -> None:
    site.text("/robots.txt", "User-agent: *\nCrawl-delay: 7\nDisallow: /secret")
    busy = iter((Page(b"", 429, {"Retry-After": "30"}), Page(b"busy", headers={"Content-Type": "text/plain"})))
    site.text("/a.js", "a")
    site.pages["/b.js"] = lambda _headers: next(busy)
    site.text("/secret.js", "s")
    clock = FakeClock()
    client = HttpClient(private_hosts=LOOPBACK)
    crawled = CrawledSite(client, Robots(client, parse_robots), HostRateLimiter(clock.now))
    browser = ScriptedBrowser("/a.js", "/b.js")
    rendering = BrowserRendering(browser, None, clock.sleep)  # type: ignore[arg-type]
    answer = HttpResponse(site.url, 200, "text/html", "utf-8", b"")
    for _ in range(3):
        assert rendering.html(answer, crawled) == b"a busy"
    assert clock.waited == browser.allowed == [7.0, 30.0]
    assert (site.asked["/a.js"], site.asked["/b.js"]) == (1, 2)
    browser.paths = ("/secret.js",)
    with pytest.raises(AddressRefused, match=r"robots.txt forbids it"):
        rendering.html(answer, crawled)
    client.close()
