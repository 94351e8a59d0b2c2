"""`make pictures`: take the web UI screenshots for docs/ui.md, using a part of this repository."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from deltos.app import App
from deltos.config import Config
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.workspace.identity import identify
from tests.ui.opened import chromium, make_partial_repository, serve_page

MEMORIES = (
    ("We keep access tokens only as hashes: the secret is random, a slow hash would protect nothing", "decision"),
    ("Prefer frozen dataclasses over dictionaries between modules", "preference"),
    ("The SDK's session manager keeps no events of the past, so Last-Event-ID is removed", "finding"),
)
SCREENSHOTS = (
    ("search-light", "search?q=verify+bearer+tokens", ".result", "light"),
    ("graph-dark", "graph", ".box", "dark"),
    ("memory-light", "memory", ".memo", "light"),
    ("health-dark", "health", ".figures", "dark"),
)


def main() -> None:
    """Take all screenshots and write them to the given folder."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        root, home = make_partial_repository(Path(folder) / "deltos", {}), Path(folder) / "home"
        app = App(Config(home))
        for text, kind in MEMORIES:
            origin = ObservationOrigin(identify(root).project_id, root, "session-1")
            app.domains.memory.remember(Draft(text, kind=kind), origin)
        app.domains.projects.index_of(root).index()  # index first, so that the search shows only its own time
        app.close()
        served = serve_page(root, home)
        page = browser.new_page(viewport={"width": 1200, "height": 720})
        page.set_default_timeout(60_000)
        page.goto(served.url)
        page.wait_for_selector("#query")  # the link redirects to the page
        page.goto(f"http://{served.address.netloc}/#/search?q=warm")
        page.wait_for_selector(".status-line")
        for name, address, selector, theme in SCREENSHOTS:
            page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            page.goto(f"http://{served.address.netloc}/#/{address}")
            page.reload()
            page.wait_for_selector(selector)
            if name.startswith("search"):
                page.locator("#query").focus()
                page.keyboard.press("ArrowDown")
                page.wait_for_selector(".document .number")
            page.screenshot(path=out / f"{name}.png", animations="disabled")
        served.stop()
        served.shut_down()


if __name__ == "__main__":
    main()
