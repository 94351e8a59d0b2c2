"""Measure the web UI in Chromium: first paint, search as you type, 20,000 symbols, 100,000 observations.

    python -m benchmarks.web_ui [paint] [search] [graph] [memory] [lighthouse]

`DELTOS_BENCH_TREE=FOLDER` searches that folder instead of the repository composed by benchmarks.query_speed. Wall-clock
times depend on the load of the machine, so the CPU time of the page's main thread, as counted by Chromium, is printed
too. There is no graphics card: SwiftShader draws WebGL on the same cores.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.ui.opened import chromium, serve_page

from benchmarks.paths import REPOSITORY, SCRATCH
from benchmarks.query_speed import medium_repository, quantile
from deltos.app import App
from deltos.config import Config
from deltos.model import Clean
from deltos.store.observations import NewObservation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, CDPSession, Page
    from tests.server.over_http.served import Served

HOME = SCRATCH / "page-home"
LARGE_HOME = SCRATCH / "page-memory"
LIGHTHOUSE = "lighthouse@13.5.0"
RELOADS = 12
TYPED_QUERIES = (
    "where is a connection closed",
    "parse a header",
    "timer wheel",
    "convert a table to markdown",
    "dependency injection of parameters",
    "expire keys",
)
KEY_INTERVAL_MS = 120  # interval between keys of a fast typist
FRAMES = 60
SETTLED_MS = 1500  # time until a page is loaded and idle
REPEATS = 3
OBSERVATIONS = 100_000
FORGET_INTERVAL = 20  # one observation in 20 is forgotten
TIMEOUT_MS = 180_000


@dataclass(frozen=True, slots=True)
class Tab:
    """A browser tab in which a user is signed in, with access to Chromium's performance counters."""

    page: Page
    counters: CDPSession
    base: str

    def main_thread_ms(self) -> float:
        """Return CPU milliseconds of the main thread so far."""
        found = self.counters.send("Performance.getMetrics")["metrics"]
        seconds: float = next(each["value"] for each in found if each["name"] == "TaskDuration")
        return 1000 * seconds


@contextmanager
def open_ui(browser: Browser, root: Path, home: Path) -> Iterator[tuple[Tab, Served]]:
    """Start `deltos ui` for a project, and open its link in a browser tab."""
    served = serve_page(root, home)
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(served.url)
    page.wait_for_selector(".welcome")
    counters = context.new_cdp_session(page)
    counters.send("Performance.enable", {"timeDomain": "threadTicks"})
    yield Tab(page, counters, f"http://{served.address.netloc}"), served
    context.close()
    served.stop()
    served.shut_down()


def index_project(root: Path) -> int:
    """Index a project before its page is opened. Return the number of chunks."""
    app = App(Config(HOME))
    index = app.domains.projects.index_of(root)
    index.index()
    chunks: int = index.store.code.chunk_count()
    app.close()
    return chunks


def format_row(name: str, values: list[float], target: str) -> None:
    """Format a table row with a measurement and its target."""
    shown = (min(values), statistics.median(values), quantile(values, 0.95))
    print(f"| {name} | {' | '.join(f'{value:,.0f} ms' for value in shown)} | {target} |", flush=True)


def format_head() -> None:
    """Format the head of a table of times."""
    print(f"\nload {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| | min | p50 | p95 | target |\n|---|--:|--:|--:|--:|")


def measure_paint(browser: Browser) -> None:
    """Print the time from the server's response to the first paint, after a reload.

    The very first load is excluded, because Chromium starts its renderer then. The page is not observed while it loads,
    because that would use its main thread. In an empty tab Chromium starts a new process for a page with
    Cross-Origin-Opener-Policy; for comparison, a page with one sentence and no script is measured too.
    """
    index_project(REPOSITORY)
    with open_ui(browser, REPOSITORY, HOME) as (tab, _):

        def loaded(load: Callable[[], object]) -> Paints:
            load()
            tab.page.wait_for_timeout(SETTLED_MS)
            return paint_times(tab.page)

        def in_empty_tab(url: str) -> list[float]:
            found = []
            for _ in range(RELOADS):
                tab.page.goto("about:blank")
                found.append(loaded(partial(tab.page.goto, url)).first)
            return found

        again, main = [], []
        for _ in range(1 + RELOADS):
            again.append(loaded(tab.page.reload))
            main.append(tab.main_thread_ms())
        format_head()
        format_row("first paint after the server's answer, on a reload", [each.first for each in again[1:]], "150 ms")
        format_row("largest paint: the view is shown", [each.largest for each in again[1:]], "")
        format_row("main thread, CPU", main[1:], "")
        format_row("first paint in an empty tab", in_empty_tab(f"{tab.base}/#/search"), "")
        format_row("of a page of one sentence, in an empty tab", in_empty_tab(f"{tab.base}/enter"), "")


class Paints(NamedTuple):
    """Milliseconds after the server's response."""

    first: float
    largest: float


def paint_times(page: Page) -> Paints:
    """Return the times of the first and of the largest paint."""
    answered, first, largest = page.evaluate(
        """() => new Promise((done) => new PerformanceObserver((list) => done([
          performance.getEntriesByType('navigation')[0].responseEnd,
          performance.getEntriesByName('first-contentful-paint')[0].startTime,
          list.getEntries().at(-1).startTime])).observe({type: 'largest-contentful-paint', buffered: true}))"""
    )
    return Paints(first - answered, largest - answered)


def measure_search(browser: Browser) -> None:
    """Print the time from the last key press to the results of the complete query, with about 20,000 chunks."""
    tree = os.environ.get("DELTOS_BENCH_TREE")
    root = Path(tree) if tree else medium_repository()[0]
    chunks = index_project(root)
    seen: dict[str, list[float]] = {"clock": [], "server": [], "main": []}
    with open_ui(browser, root, HOME) as (tab, _):
        tab.page.evaluate(_WATCH_RESULTS)
        for question in (*TYPED_QUERIES, *TYPED_QUERIES, *TYPED_QUERIES):
            tab.page.fill("#query", "")
            tab.page.wait_for_selector(".welcome")
            tab.page.keyboard.type(question, delay=KEY_INTERVAL_MS)
            before = tab.main_thread_ms()
            tab.page.wait_for_function("(q) => window.answered?.query === q", arg=question)
            found = tab.page.evaluate("window.answered")
            seen["clock"].append(found["at"] - found["key"])
            seen["server"].append(found["server"])
            seen["main"].append(tab.main_thread_ms() - before)
    print(f"\n{chunks:,} chunks, typed with {KEY_INTERVAL_MS} ms between keys")
    format_head()
    format_row("results after the last key", seen["clock"][len(TYPED_QUERIES) :], "100 ms")
    format_row("of it the server's search", seen["server"][len(TYPED_QUERIES) :], "")
    format_row("of it the page's main thread, CPU", seen["main"][len(TYPED_QUERIES) :], "")


# Records the times of the last key press and of the results for the text in the field.
_WATCH_RESULTS = """() => {
  let key = 0;
  addEventListener('input', () => { key = performance.now(); }, true);
  new MutationObserver(() => {
    const line = document.querySelector('.status-line')?.textContent ?? '';
    const query = document.getElementById('query').value;
    if (!document.querySelector('.result') || line.includes('searching')) return;
    if (!document.title.startsWith(query + ' ·')) return;
    if (window.answered?.query === query && window.answered.key === key) return;
    window.answered = {query, key, at: performance.now(), server: Number(/(\\d+) ms/.exec(line)?.[1])};
  }).observe(document.documentElement, {subtree: true, childList: true, characterData: true});
}"""


def measure_graph(browser: Browser) -> None:
    """Print the time to draw the 20,000 most used symbols, and the time of a frame while they are dragged."""
    index_project(REPOSITORY)
    with open_ui(browser, REPOSITORY, HOME) as (tab, _):
        page = tab.page
        drawn, answered, main = [], [], []
        for _ in range(REPEATS):
            page.goto(f"{tab.base}/#/graph?mode=cycles")
            page.wait_for_selector(".cycle, .empty")
            page.evaluate("performance.clearMarks(); performance.clearResourceTimings()")
            before, started = tab.main_thread_ms(), page.evaluate("performance.now()")
            page.click(".tab:text-is('Symbols')")
            page.wait_for_selector(".sigma[data-drawn]")
            main.append(tab.main_thread_ms() - before)
            times = page.evaluate(
                """() => [
                  performance.getEntriesByName('graph-drawn').at(-1).startTime,
                  performance.getEntriesByType('resource').find((each) => each.name.includes('/symbols')).duration]"""
            )
            drawn.append(times[0] - started)
            answered.append(times[1])
        nodes = page.get_attribute(".sigma", "data-drawn")
        print(f"\n{page.inner_text('.graph-note')} ({nodes} nodes are drawn)")
        format_head()
        format_row("drawn after the click", drawn, "2,000 ms")
        format_row("of it the server's answer", answered, "")
        format_row("of it the main thread, CPU", main, "")
        _drag_map(tab)


def _drag_map(tab: Tab) -> None:
    """Drag the map with one generated pointer event per frame, so that the browser driver causes no delay."""
    before = tab.main_thread_ms()
    times = tab.page.evaluate(_DRAG, FRAMES)
    spent = tab.main_thread_ms() - before
    format_row("dragging: work of a frame on the main thread", times, "16 ms")
    print(f"| dragging: all work of the main thread by frame, CPU | | {spent / FRAMES:.1f} ms | | 16 ms |")


# Measures the functions that the browser calls for each frame. sigma.js draws in them.
_DRAG = """(frames) => new Promise((done) => {
  const canvas = document.querySelector('.sigma-mouse');
  const box = canvas.getBoundingClientRect();
  const ask = window.requestAnimationFrame.bind(window);
  const times = [];
  window.requestAnimationFrame = (work) => ask((time) => {
    const started = performance.now();
    work(time);
    times.push(performance.now() - started);
  });
  const send = (type, step) => (type === 'mousedown' ? canvas : document).dispatchEvent(new MouseEvent(type, {
    bubbles: true, clientX: box.x + 400 + 3 * (step % 60), clientY: box.y + 200 + step % 40}));
  send('mousedown', 0);
  let step = 0;
  const next = () => {
    if (step === frames) { send('mouseup', step); window.requestAnimationFrame = ask; return done(times); }
    step += 1;
    send('mousemove', step);
    ask(next);
  };
  ask(next);
})"""


def measure_memory(browser: Browser) -> None:
    """Print times for each part of a timeline of 100,000 observations, and the number of observations on the page."""
    root = REPOSITORY
    _remember_many(root)
    with open_ui(browser, root, LARGE_HOME) as (tab, _):
        format_head()
        for name, address in (
            ("timeline", "memory"),
            ("timeline of a kind", "memory?kind=decision"),
            ("timeline until a day in the middle", "memory?until=2025-06-01"),
            ("forgotten", "memory?show=forgotten"),
            ("session-start context", "memory?show=next"),
        ):
            format_row(name, [_shown_ms(tab, address) for _ in range(REPEATS)], "")
        tab.page.goto(f"{tab.base}/#/memory")
        for _ in range(10):
            count = tab.page.locator(".memo").count()
            tab.page.click("button:text-is('Older')")
            tab.page.wait_for_function("(n) => document.querySelectorAll('.memo').length > n", arg=count)
        elements = tab.page.evaluate("document.querySelectorAll('*').length")
        print(
            f"\n{tab.page.inner_text('.page > .muted >> nth=0')} After ten times `Older`: "
            f"{tab.page.locator('.memo').count()} of them in {elements:,} elements."
        )


def _shown_ms(tab: Tab, address: str) -> float:
    """Return the time from a change of the URL until the new content is shown."""
    tab.page.goto(f"{tab.base}/#/apis")
    tab.page.wait_for_selector("h1:text-is('APIs')")
    started: float = tab.page.evaluate("(hash) => { location.hash = hash; return performance.now() }", f"#/{address}")
    tab.page.wait_for_selector(".memo, .agent-text pre, .empty")
    ended: float = tab.page.evaluate("performance.now()")
    return ended - started


def _remember_many(root: Path) -> None:
    app = App(Config(LARGE_HOME))
    project = app.domains.project_with_stored_identity(root)
    store = app.domains.memory.store
    if store.counts().observations < OBSERVATIONS // 2:
        day = 86_400_000_000
        kinds = ("finding", "decision", "preference", "error", "edit")
        with store.writing() as writer:
            key = writer.upsert_project(project.project_id, root=str(root), now=1)
            for number in range(OBSERVATIONS):
                at = 1_700_000_000_000_000 + number * day // 130  # The observations are spread over two years.
                session = writer.upsert_session(key, f"session-{number // 50}", agent="", now=at)
                text = f"Observation {number}: parsing module {number % 997} takes {number % 89} ms, for {number} lines"
                new = NewObservation(Clean(f"o{number:07d}"), Clean(text), Clean(kinds[number % 5]), Clean(""), at)
                place = writer.insert(key, session, new)
                if number % FORGET_INTERVAL == 0:
                    writer.update(place, deleted_at=at + day)
    app.close()


def run_lighthouse(browser: Browser) -> None:
    """Print Lighthouse's scores for a desktop computer."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    program, npm = shutil.which("chromium"), shutil.which("npm", path=path)
    assert program
    assert npm
    folder = SCRATCH / "lighthouse"
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "CHROME_PATH": program, "PATH": path}
    if not (folder / "node_modules" / "lighthouse").exists():
        subprocess.run([npm, "install", "--no-audit", "--no-fund", LIGHTHOUSE], cwd=folder, env=environment, check=True)
    print("\n| view | accessibility | best practices |\n|---|--:|--:|")
    index_project(REPOSITORY)
    with open_ui(browser, REPOSITORY, HOME) as (tab, _):
        cookie = tab.page.context.cookies()[0]
        headers = json.dumps({"Cookie": f"{cookie['name']}={cookie['value']}"})
        for view in ("search?q=rate+limit", "memory", "graph", "sources", "health"):
            output = subprocess.run(
                [
                    folder / "node_modules/.bin/lighthouse",
                    f"{tab.base}/#/{view}",
                    "--quiet",
                    "--output=json",
                    "--preset=desktop",
                    "--only-categories=accessibility,best-practices",
                    f"--extra-headers={headers}",
                    "--chrome-flags=--headless=new --no-sandbox",
                ],
                cwd=folder,
                env=environment,
                check=True,
                capture_output=True,
            ).stdout
            found = json.loads(output)
            scores = [
                round(100 * (found["categories"][name]["score"] or 0)) for name in ("accessibility", "best-practices")
            ]
            print(f"| {view} | {' | '.join(map(str, scores))} |", flush=True)
            for audit in found["audits"].values():
                if audit["score"] is not None and audit["score"] < 1 and audit["id"] in _refs(found):
                    print(f"  {audit['id']}: {audit['title']}", file=sys.stderr)


def _refs(found: dict[str, dict[str, dict[str, list[dict[str, str]]]]]) -> set[str]:
    names = ("accessibility", "best-practices")
    return {each["id"] for name in names for each in found["categories"][name]["auditRefs"]}


PARTS: dict[str, Callable[[Browser], None]] = {
    "paint": measure_paint,
    "search": measure_search,
    "graph": measure_graph,
    "memory": measure_memory,
    "lighthouse": run_lighthouse,
}


def main() -> None:
    """Print the selected tables, or all tables."""
    with chromium() as browser:
        for name in sys.argv[1:] or PARTS:
            PARTS[name](browser)


if __name__ == "__main__":
    main()
