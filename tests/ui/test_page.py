"""The web UI in a real browser: contents and actions of each view, and hostile texts."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from deltos.app import App
from deltos.config import Config
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.workspace.identity import identify
from tests.server.over_http.served import Served
from tests.ui.hostile import ALL_TEXTS, FILE_NAMES
from tests.ui.opened import REPOSITORY, chromium, make_partial_repository, serve_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import BrowserContext, Page, Route

DECISION = "We keep access tokens only as hashes: the secret is random"
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
LONG_WORD = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz" * 3
SVG = "{http://www.w3.org/2000/svg}"
WAIT_TIMEOUT_MS = 40_000


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    hostile = {
        f"odd/{name}": f'# {name}\ndef odd_{number}():\n    return """{ALL_TEXTS[number]}"""\n'
        for number, name in enumerate(FILE_NAMES)
    }
    blocks = "\n\n".join(f"## Payload {number}\n\n{text}" for number, text in enumerate(ALL_TEXTS))
    more: dict[str, str | bytes] = {
        "game/ping.py": "import game.pong\n",
        "game/pong.py": "import game.ping\n",
        "notes/payloads.md": f"# Hostile payloads\n\n{blocks}\n",
        "pets.json": (REPOSITORY / "fuzz/seeds/openapi-json/pets.json").read_bytes(),
    }
    return make_partial_repository(tmp_path_factory.mktemp("page") / "deltos", {**hostile, **more})


@pytest.fixture(scope="module")
def home(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with two observations, one of them hostile."""
    folder = tmp_path_factory.mktemp("home")
    app = App(Config(folder))
    project = identify(root)
    hostile = f"Hostile payloads follow, and a key: {SECRET} {LONG_WORD}\n" + "\n".join(ALL_TEXTS)
    for text, kind in ((DECISION, "decision"), (hostile, "finding")):
        app.domains.memory.remember(Draft(text, kind=kind), ObservationOrigin(project.project_id, root, "session-1"))
    app.close()
    return folder


@pytest.fixture(scope="module")
def served(root: Path, home: Path) -> Iterator[Served]:
    server = serve_page(root, home)
    yield server
    assert server.stop() == 0
    server.shut_down()


@pytest.fixture(scope="module")
def context(served: Served) -> Iterator[BrowserContext]:
    """A browser context for all tests, signed in by the link."""
    with chromium() as browser:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(WAIT_TIMEOUT_MS)
        page = context.new_page()
        page.goto(served.url)
        page.wait_for_selector(".view-link")
        page.close()
        yield context


class MonitoredPage:
    """A browser page that records errors and requests that must not happen."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base
        self.wrong: list[str] = []
        page.on("pageerror", lambda error: self.wrong.append(f"error {error}"))
        page.on("dialog", lambda dialog: self.wrong.append(f"dialog {dialog.message}"))
        page.on("console", lambda messages: self.wrong.append(messages.text) if messages.type == "error" else None)
        page.on(
            "request",
            lambda asked: None if asked.url.startswith((base, "data:image/svg")) else self.wrong.append(asked.url),
        )

    def open(self, address: str, selector: str) -> Page:
        self.page.goto(f"{self.base}/#/{address}")
        self.page.wait_for_selector(selector)
        return self.page


@pytest.fixture
def monitored_page(context: BrowserContext, served: Served) -> Iterator[MonitoredPage]:
    """A page that fails the test if foreign scripts, errors or requests to other hosts occurred."""
    page = context.new_page()
    monitored_page = MonitoredPage(page, f"http://{served.address.netloc}")
    yield monitored_page
    assert page.evaluate("window.pwned") is None
    assert monitored_page.wrong == []
    page.close()


def test_search_as_you_type_shows_agent_results_and_updates_the_url(monitored_page: MonitoredPage) -> None:
    page = monitored_page.open("search", "#query")
    page.keyboard.type(
        "verify bearer tokens", delay=120
    )  # the field has the focus; each key is typed after the previous answer
    page.wait_for_url("**/#/search?q=verify+bearer+tokens")
    assert page.input_value("#query") == "verify bearer tokens"
    page.wait_for_selector(".result[data-kind=code]")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector(".document .code .number")
    assert page.get_attribute(".result >> nth=0", "aria-current") == "true"
    assert "hljs-keyword" in page.inner_html(".document .code")
    link = page.get_attribute(".document a.number >> nth=0", "href") or ""
    assert re.fullmatch(r"vscode://file/.+\.py:\d+", link)
    page.click(".tabs-row .switch")
    shown = page.inner_text(".agent-text pre")
    assert shown.startswith('{"')
    assert '"token_estimate"' in shown
    address = page.url
    page.click("text=Commits")
    page.wait_for_selector(".tab[aria-current]:has-text('Commits')")
    page.go_back()
    page.wait_for_selector(".tab[aria-current]:has-text('All')")
    assert page.url == address
    page.evaluate("window.steps = 0; addEventListener('hashchange', () => { window.steps += 1 })")
    page.evaluate(
        "location.hash = '#/search?q=rate+limit'"
    )  # after a link the field shows its query and sends no request
    expect(page.locator("#query")).to_have_value("rate limit")
    page.wait_for_selector(".result:has-text('rate_limit.py')")
    assert page.evaluate("window.steps") == 1


def test_a_question_is_explored_with_numbered_code_and_the_agent_view(monitored_page: MonitoredPage) -> None:
    page = monitored_page.open("explore", ".welcome a")
    page.fill("#query", "how is the number of requests per minute limited")
    page.keyboard.press("Enter")
    page.wait_for_selector(".answer-code .number")
    heading = page.locator(".answer-code h2", has_text="rate_limit.py:").first.inner_text()
    first_line = page.locator(".answer-code", has_text=heading).locator(".number").first.inner_text()
    assert f".py:{first_line}-" in heading
    page.click("text=agent view")
    assert "no need to open these files" in page.inner_text(".agent-text")
    hint = page.locator(".agent-text .hint")
    normal = hint.inner_text()
    page.get_by_role("link", name="short").click()
    expect(hint).not_to_have_text(normal)
    assert len(page.inner_text(".agent-text")) < 3_000


def test_more_results_are_shown_up_to_the_maximum(monitored_page: MonitoredPage) -> None:
    page = monitored_page.open("search?q=server", ".result")
    first = page.locator(".result").count()
    page.click("button:has-text('Show more')")
    page.wait_for_url("**limit=20**")
    page.locator(".result").nth(first).wait_for()
    assert "at most" in page.inner_text(".results-pane")
    page.click(".tab:has-text('Commits')")
    page.wait_for_selector(".tab[aria-current]:has-text('Commits')")
    page.wait_for_selector(".result[data-kind=commit], .empty")
    assert page.locator(".note", has_text="do not apply").count() == 0


def test_escape_leaves_the_field_and_closes_the_document_and_arrow_keys_work_without_focus(
    monitored_page: MonitoredPage,
) -> None:
    page = monitored_page.open("search?q=verify+bearer+tokens", ".result")
    page.locator("#query").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_selector(".document .code")
    opened = page.url
    page.keyboard.press("Escape")
    expect(page.locator("#query")).not_to_be_focused()
    assert (page.input_value("#query"), page.url) == ("verify bearer tokens", opened)
    page.keyboard.press("Escape")
    page.wait_for_url("**/#/search?q=verify+bearer+tokens")
    assert page.locator(".document").count() == 0
    for number in range(2):
        page.keyboard.press("ArrowDown")
        expect(page.locator(".result").nth(number)).to_have_attribute("aria-current", "true")


def test_keys_open_every_view_and_themes_and_narrow_windows_work(monitored_page: MonitoredPage) -> None:
    page = monitored_page.open("health", ".figures")
    assert "python" in page.inner_text(".bars")
    views = ("search", "memory", "graph", "review", "contracts", "sources", "apis", "health")
    for key, name in zip("smgrcoah", views, strict=True):
        page.locator("#main").focus()
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**/#/{name}")
        if name == "search":  # the field takes the focus when it appears, after the address has changed
            expect(page.locator("#query")).to_be_focused()
    monitored_page.open("health?project=deltos", ".figures")
    page.locator("#main").focus()
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.wait_for_url("**/#/memory?project=deltos")
    page.locator("#main").focus()
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    before = page.evaluate("getComputedStyle(document.body).color")
    page.locator("#main").focus()
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.body).color") != before
    page.keyboard.press("t")
    for width, height in ((360, 700), (640, 400)):  # a phone; half of 1280 by 800, which equals a zoom of 200 %
        page.set_viewport_size({"width": width, "height": height})
        for view, selector in (
            ("search?q=tokens", ".result"),
            ("memory", ".memo"),
            ("sources", "input[name=url]"),
            ("apis", "h1"),
            ("health", ".figures"),
            ("graph", ".box"),
            ("graph?symbol=RequestGuard", ".node"),
        ):
            monitored_page.open(view, selector)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view


def test_memory_is_pinned_forgotten_and_restored_and_shows_the_context_of_the_next_session(
    monitored_page: MonitoredPage,
) -> None:
    page = monitored_page.open("memory", ".memo")
    memo = page.locator(".memo", has_text=DECISION)
    memo.get_by_role("button", name="Pin").click()
    memo.locator(".tag.pin").wait_for()
    page.click(".tab:has-text('next session')")
    shown = page.inner_text(".agent-text pre")
    assert shown.startswith("Memory of this project holds 2 observations")
    assert "Pinned:\n- " in shown
    assert DECISION in shown
    page.go_back()
    memo.get_by_role("button", name="Forget").click()
    memo.wait_for(state="detached")
    page.click(".toast button")
    memo.wait_for()
    memo.get_by_role("button", name="Forget").click()
    page.click(".tab:has-text('Forgotten (1)')")
    memo.get_by_role("button", name="Restore").click()
    page.wait_for_selector(".empty")
    page.click(".tab:has-text('Timeline')")
    memo.wait_for()
    other = page.locator(".memo", has_text="Hostile payloads follow")
    memo.get_by_role("button", name="Supersede").click()
    other.get_by_role("button", name="This one replaces it").click()
    expect(memo.locator(".memo-tools button")).to_have_text(["Restore", "Supersede…", "Forget"])
    expect(memo).to_contain_text("Superseded by ")
    memo.get_by_role("button", name="Restore").click()
    memo.get_by_role("button", name="Pin").wait_for()
    page.click(".chip:has-text('finding')")
    memo.wait_for(state="detached")
    assert "github-pat × 1" in page.inner_text(".redacted")
    assert page.locator(".memo .tag", has_text="redacted: github-pat").count() == 1
    assert SECRET not in page.content()
    monitored_page.open("memory?until=2020-01-01", ".empty")


def add_sources(monitored_page: MonitoredPage, root: Path) -> None:
    """Add the hostile pages and an API as sources, so that the test can run alone."""
    page = monitored_page.open("sources", ".source, .empty")
    for source in (root / "notes", root / "pets.json"):
        if not page.locator(f".source[data-name='{source.name}']").count():
            page.fill("input[name=url]", str(source))
            with page.expect_response("**/api/tool/add_source"):
                page.click("button:has-text('Add')")
        page.wait_for_selector(f".source[data-name='{source.name}'] .state-ready")


def test_sources_are_added_watched_and_removed_and_apis_are_browsed(monitored_page: MonitoredPage, root: Path) -> None:
    page = monitored_page.open("sources", "input[name=url]")
    for source in (root / "notes", root / "pets.json"):
        page.fill("input[name=url]", str(source))
        with page.expect_response("**/api/tool/add_source"):
            page.click("button:has-text('Add')")
        page.wait_for_selector(".toast")
    page.wait_for_selector(".source .state-ready")
    monitored_page.open("apis", "a.chip")
    page.click("a.chip >> nth=0")
    page.click(".operation >> nth=0")
    page.wait_for_selector(".document .prose")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".operation").nth(1)).to_have_attribute("aria-current", "true")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".operation").nth(0)).to_have_attribute("aria-current", "true")
    page.wait_for_selector(".document .prose")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click(".document h3:has-text('Example') ~ .code-box .copy")
    page.wait_for_selector(".copy:has-text('Copied')")
    assert page.evaluate("navigator.clipboard.readText()").startswith("curl ")
    page.click("a.schema >> nth=0")
    page.wait_for_selector(".document[data-id*=':schema '] .code")
    page.fill("[aria-label='filter operations']", "no such operation")
    page.wait_for_selector(".operation", state="detached")
    monitored_page.open("sources", ".source[data-name='pets.json'] a:has-text('operation')")
    page.fill("input[name=url]", "ftp://nowhere.invalid/")
    page.click("button:has-text('Add')")
    assert page.inner_text(".problem")
    notes = page.locator(".source[data-name='notes']")
    with page.expect_response("**/api/tool/recrawl_source") as updated:
        notes.get_by_role("button", name="Update").click()
    assert not updated.value.json()["is_error"]
    notes.locator(".state-ready").wait_for()
    notes.get_by_role("button", name="Remove").click()
    notes.get_by_role("button", name="Keep").click()
    notes.get_by_role("button", name="Remove").click()
    notes.get_by_role("button", name="Remove it").click()
    notes.wait_for(state="detached")


def test_the_graph_is_drawn_as_map_neighbourhood_impact_and_files(monitored_page: MonitoredPage) -> None:
    page = monitored_page.open("graph", ".box")
    assert page.locator(".box").count() >= 15
    monitored_page.open("graph?symbol=RequestGuard", ".node.middle")
    assert "build_app" in (page.text_content("#drawing") or "")
    page.click(".node:has-text('build_app')")
    page.wait_for_selector(".document .code")
    monitored_page.open("graph?symbol=src/deltos/errors.py&project=deltos", ".node.middle")
    page.click(".node.middle circle")  # a file node shows the first lines of the file in the drawn project
    page.wait_for_selector(".document .code")
    assert (page.get_attribute(".document", "data-id") or "").startswith("code:deltos!src/deltos/errors.py:1-")
    monitored_page.open("graph?symbol=OriginPolicy&mode=impact", ".ring")
    assert page.locator("text.distance").first.text_content() == "distance 1"
    heights = "found => found.map(each => each.getBoundingClientRect().height)"
    assert min(page.eval_on_selector_all(".node text", heights)) >= 10
    wide = page.locator("#drawing").bounding_box()
    page.click("[aria-label='zoom in']")
    expect(page.locator("#drawing")).not_to_have_attribute("width", str(wide["width"] if wide else 0))
    every = page.locator(".node").count()
    monitored_page.open("graph?symbol=OriginPolicy&mode=impact&possible=no", ".ring")
    assert page.locator(".node").count() == every  # every node depends on the symbol through certain references
    page.locator(".node:not(.middle)").first.focus()
    page.keyboard.press("Space")
    page.wait_for_selector(".document .code")
    monitored_page.open("graph?mode=files", ".sigma[data-drawn]")
    assert page.inner_text(".graph-note").startswith(page.get_attribute(".sigma", "data-drawn") or "?")
    monitored_page.open("graph?symbol=RequestGuart", ".problem a")
    page.get_by_role("link", name="RequestGuard", exact=True).click()
    page.wait_for_selector(".node.middle:has-text('RequestGuard')")
    monitored_page.open("graph?symbol=no_such_symbol_at_all", ".problem")
    monitored_page.wrong.clear()  # the browser logs the 400 that the page shows


def download_picture(page: Page, kind: str) -> bytes:
    """Click the button for a file format and return the downloaded file."""
    with page.expect_download() as download:
        page.click(f"button:text-is('{kind}')")
    return download.value.path().read_bytes()


def test_graphs_are_filtered_by_url_parameters_and_saved_as_pictures(monitored_page: MonitoredPage) -> None:
    page = monitored_page.open("graph?symbol=RequestGuard", ".node.middle")
    every = page.locator(".node").count()
    page.select_option("[aria-label=kind]", "function")
    page.wait_for_url("**kind=function**")
    functions = page.locator(".node").count()
    assert 1 < functions < every
    page.go_back()
    page.wait_for_selector(".node:has-text('RequestGuard._max_requests_of')")
    assert page.locator(".node").count() == every
    monitored_page.open("graph?symbol=RequestGuard&tests=no&possible=no&use=call", ".node.middle")
    assert page.locator(".node.test, .edge.possible").count() == 0
    drawing = ElementTree.fromstring(download_picture(page, "SVG"))
    assert "build_app" in "".join(drawing.itertext())
    assert download_picture(page, "PNG").startswith(b"\x89PNG")
    monitored_page.open("graph", ".box")
    drawing = ElementTree.fromstring(download_picture(page, "SVG"))
    assert "guard.py" in "".join(drawing.itertext())
    assert (drawing[0].tag, drawing[0].get("fill")) == (f"{SVG}rect", "#ffffff")  # the background
    assert {text.get("font-size") for text in drawing.iter(f"{SVG}text")} == {"11px"}
    monitored_page.open("graph?mode=symbols", ".sigma[data-drawn]")
    symbols = int(page.get_attribute(".sigma", "data-drawn") or 0)
    assert symbols > 100
    drawing = ElementTree.fromstring(download_picture(page, "SVG"))
    assert len(list(drawing.iter(f"{SVG}circle"))) == symbols
    page.fill("[aria-label='find in the drawing']", "RequestGuard._max_re")
    page.keyboard.press("Enter")  # the search field works without a pointer
    page.wait_for_selector(".document .code")
    monitored_page.open("graph?mode=cycles", ".cycle-ring")
    drawing = ElementTree.fromstring(download_picture(page, "SVG"))
    assert {"ping.py", "pong.py"} <= {text.text for text in drawing.iter(f"{SVG}text")}
    assert download_picture(page, "PNG").startswith(b"\x89PNG")


def test_hostile_documents_memories_and_names_are_shown_as_text(monitored_page: MonitoredPage, root: Path) -> None:
    page = monitored_page.page
    add_sources(monitored_page, root)
    monitored_page.open("search?q=hostile+payloads&tab=doc", ".result")
    pages = [
        page.locator(".result").nth(number).get_attribute("href") for number in range(page.locator(".result").count())
    ]
    addresses = [
        *(each.removeprefix("#/") for each in pages if each),
        "memory",
        "search?q=odd+payment&tab=code",
        "graph",
    ]
    for address in addresses:
        monitored_page.open(address, ".document .prose, .memo, .result, .box")
        assert (
            page.locator(
                "main :is(script, iframe, object, embed, base, link, meta, style, form[action], video, audio)"
            ).count()
            == 0
        )
        assert page.locator("main img, main [onerror], main [onload], main [onfocus]").count() == 0
        links = page.eval_on_selector_all("main a[href]", "found => found.map(each => each.protocol)")
        assert set(links) <= {"http:", "https:", "vscode:"}, address
    monitored_page.open("memory", ".memo")
    text = page.text_content(".timeline") or ""
    assert "<script>window.pwned=1</script>" in text  # the element is shown as text
    assert page.locator(".memo .hidden-character").count() >= 4
    monitored_page.open(
        "search?q=odd_2&tab=code", ".result .mixed"
    )  # the file name contains a letter of another script


def test_views_and_tabs_of_disabled_toolsets_are_hidden(monitored_page: MonitoredPage) -> None:
    def disable_other_toolsets(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "toolsets": ["code"]})

    monitored_page.page.route("**/api/view/state*", disable_other_toolsets)
    page = monitored_page.open("search?q=tokens", ".result")
    assert page.locator(".view-link").all_inner_texts() == ["Search", "Explore", "Health"]
    assert page.locator(".tab").all_inner_texts() == ["All", "Code", "Commits"]
    monitored_page.open("memory", ".welcome")  # an old URL of a disabled view


def test_the_page_reports_a_stopped_server_and_reconnects(context: BrowserContext, root: Path, home: Path) -> None:
    def start_page_server(address: str) -> Served:
        return Served([sys.executable, "-P", "-m", "deltos", "mcp", str(root), "--http", address], home)

    first = start_page_server("127.0.0.1:0")
    page = context.new_page()
    page.goto(f"http://{first.address.netloc}/#/memory")
    page.wait_for_selector(".memo")
    first.stop()
    first.shut_down()
    page.click(".chip:has-text('decision')")
    page.wait_for_selector(".problem")
    second = start_page_server(first.address.netloc)
    try:
        # The page reconnects automatically, although the new server has no session.
        page.wait_for_selector(".problem", state="detached")
        page.locator(".memo", has_text=DECISION).get_by_role("button", name="in").first.click()
        page.wait_for_selector(".toast")
    finally:
        second.stop()
        second.shut_down()
        page.close()


def test_refreshing_health_reloads_the_list_of_projects(monitored_page: MonitoredPage) -> None:
    def add_project(route: Route) -> None:
        answer = route.fetch()
        state = answer.json()
        another = {**state["project"], "id": "another", "name": "another-project"}
        route.fulfill(response=answer, json={**state, "projects": [*state["projects"], another]})

    page = monitored_page.open("health", ".figures")
    page.route("**/api/view/state*", add_project)  # another process has indexed it in the meantime
    page.click("button:has-text('Refresh')")
    page.wait_for_selector("[aria-label=projects] td:has-text('another-project')")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_accessibility_rule_is_violated(
    monitored_page: MonitoredPage, root: Path, theme: Literal["light", "dark"]
) -> None:
    axe = (REPOSITORY / "ui/node_modules/axe-core/axe.min.js").read_text("utf-8")
    page = monitored_page.page
    page.emulate_media(color_scheme=theme)
    add_sources(monitored_page, root)
    for address, selector in (
        ("search?q=tokens", ".result"),
        ("search?q=tokens&id=code:src/deltos/server/http/rate_limit.py%23RateLimit", ".document .hljs-comment"),
        ("search?q=hostile+payloads&tab=doc", ".result"),
        ("explore?q=how+are+requests+limited", ".answer-code .hljs-comment"),
        ("memory", ".memo"),
        ("health", ".figures"),
        ("graph", ".box"),
        ("graph?symbol=OriginPolicy&mode=impact", ".legend"),
        ("graph?mode=cycles", ".cycle-ring"),
        ("review", ".answer"),
        ("contracts", ".endpoint, .empty"),
        ("sources", "input"),
        ("apis?name=pets.json", ".operation"),
    ):
        monitored_page.open(address, selector)
        if address.startswith("apis"):
            page.click(".operation >> nth=0")
            page.wait_for_selector(".document .prose")
        page.evaluate(axe)
        found = page.evaluate(
            "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => v.id + ' ' + v.nodes[0].html))"
        )
        assert found == [], address
