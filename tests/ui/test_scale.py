"""The web UI with large data: 20,000 symbols of this repository in one drawing, and 100,000 observations."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from deltos.app import App
from deltos.config import Config
from deltos.model import Clean
from deltos.store.observations import NewObservation
from tests.ui.opened import REPOSITORY, chromium, serve_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page

    from deltos.isolated.process_pool import ProcessPool

DRAWN_SYMBOLS = 20_000
OBSERVATIONS = 100_000
HIDDEN_EVERY = 20  # every 20th observation is hidden
DAY_US = 86_400_000_000
FIRST_TIME_US = 1_700_000_000_000_000
MAX_ELEMENTS = 20_000
WAIT_TIMEOUT_MS = 120_000


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, workers: ProcessPool) -> Iterator[Page]:
    """A page of the web UI for this repository, with observations of two years."""
    home = tmp_path_factory.mktemp("home")
    with closing(App(Config(home), workers=workers)) as app:
        app.domains.projects.index_of(REPOSITORY).index()
        add_many_observations(app, REPOSITORY)
    served = serve_page(REPOSITORY, home)
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(WAIT_TIMEOUT_MS)
        page.goto(served.url)
        page.wait_for_selector(".welcome")
        yield page
    served.stop()
    served.shut_down()


def add_many_observations(app: App, root: Path) -> None:
    """Write observations of 2,000 sessions directly to the store."""
    project = app.domains.project_with_stored_identity(root)
    with app.domains.memory.store.writing() as writer:
        key = writer.upsert_project(project.project_id, root=str(root), now=1)
        for number in range(OBSERVATIONS):
            at = FIRST_TIME_US + number * DAY_US // 130
            session = writer.upsert_session(key, f"session-{number // 50}", agent="", now=at)
            text = f"Observation {number}: parsing module {number % 997} takes {number % 89} ms"
            new = NewObservation(Clean(f"o{number:07d}"), Clean(text), Clean("finding"), Clean(""), at)
            place = writer.insert(key, session, new)
            if number % HIDDEN_EVERY == 0:
                writer.update(place, deleted_at=at + DAY_US)


def open_address(page: Page, address: str) -> None:
    """Open a deep link."""
    page.evaluate("(hash) => { location.hash = hash }", f"#/{address}")


def test_twenty_thousand_symbols_are_drawn_and_move(page: Page) -> None:
    open_address(page, "graph?mode=symbols")
    drawing = page.locator(".sigma[data-drawn]")
    expect(drawing).to_have_attribute("data-drawn", str(DRAWN_SYMBOLS), timeout=WAIT_TIMEOUT_MS)
    assert "more not shown" in page.inner_text(".graph-note")
    before = drawing.screenshot()
    box = drawing.bounding_box()
    assert box
    page.mouse.move(box["x"] + 300, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 420, box["y"] + 260, steps=4)
    page.mouse.up()
    assert drawing.screenshot() != before


def test_a_hundred_thousand_observations_are_shown_in_pages(page: Page) -> None:
    open_address(page, "memory")
    page.wait_for_selector(".memo")
    text = page.inner_text(".page > .muted >> nth=0")
    assert f"{OBSERVATIONS - OBSERVATIONS // HIDDEN_EVERY:,} observations" in text
    for _ in range(3):
        count = page.locator(".memo").count()
        page.click("button:text-is('Older')")
        page.wait_for_function("(n) => document.querySelectorAll('.memo').length > n", arg=count)
    assert page.evaluate("document.querySelectorAll('*').length") < MAX_ELEMENTS
    open_address(page, "memory?until=2024-06-01")
    page.wait_for_function("() => document.querySelector('.memo')?.dataset.id < 'obs:o0050000'")


def test_an_observation_and_its_agent_view_have_urls(page: Page) -> None:
    open_address(page, "memory")
    page.click(".memo >> nth=0 >> .memo-id")
    page.wait_for_selector(".document[data-id^='obs:']")
    page.click(".document .switch")
    page.wait_for_selector(".document .agent-text pre")
    page.reload()
    page.wait_for_selector(".document .agent-text pre")
