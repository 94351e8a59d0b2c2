"""Helpers that serve the web UI for a part of this repository and open it in Chromium."""

from __future__ import annotations

import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.repositories import make_repository
from tests.server.over_http.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from playwright.sync_api import Browser

REPOSITORY = Path(__file__).parents[2]
SOURCE_PATTERNS = ("src/deltos/server/http/*.py", "src/deltos/server/access.py", "src/deltos/errors.py", "docs/http.md")
# Chromium renders in software, because there is no GPU.
WEBGL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")


def make_partial_repository(root: Path, more: Mapping[str, str | bytes]) -> Path:
    """Create a repository with some of our files and `more`."""
    files: dict[str, str | bytes] = {
        path.relative_to(REPOSITORY).as_posix(): path.read_bytes()
        for pattern in SOURCE_PATTERNS
        for path in sorted(REPOSITORY.glob(pattern))
    }
    return make_repository(root, {**files, **more})


def serve_page(root: Path, home: Path, **environ: str) -> Served:
    """Start `deltos ui`; `url` is the single-use link."""
    return Served([sys.executable, "-P", "-m", "deltos", "ui", str(root), "--no-browser"], home, **environ)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Launch the distribution's Chromium, which `make browser` installs; on other systems than Linux, Playwright's."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    assert program or sys.platform != "linux", "Chromium is not installed: run `make browser`"
    with sync_playwright() as playwright:
        if program is None and not Path(program := playwright.chromium.executable_path).exists():
            pytest.skip("no Chromium here: `python -m playwright install chromium`")
        # Chromium's sandbox does not work for root, and containers run the tests as root.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", *WEBGL])
        yield browser
        browser.close()
