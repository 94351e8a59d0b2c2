"""Fixtures: a small project in several languages, and a session in it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from tests.calling import ToolClient
from tests.repositories import write_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

LONG = "def assemble_everything(parts):\n" + "".join(f"    part_{n} = parts[{n}]\n" for n in range(120))
FILES: dict[str, str | bytes] = {
    "src/cache.py": (
        '"""Keeps values."""\n\nimport time\n\n\nclass Cache:\n    """Values that expire."""\n\n'
        "    def __init__(self, lifetime_seconds):\n        self.lifetime_seconds = lifetime_seconds\n"
        "        self.values = {}\n\n"
        "    def put_value(self, name, value):\n        # remember one value and when that was\n"
        "        self.values[name] = (value, time.time())\n\n"
        "    def clear_cache(self, name):\n        # forget one value\n        self.values.pop(name, None)\n\n\n"
        "def helper():\n    # so long that it is a piece of its own\n    return Cache(60)\n" + "\n# nothing more\n" * 8
    ),
    "src/long.py": LONG,
    "src/windows.py": "def on_windows(path):\r\n    return path\r\n",
    "web/server.ts": "export function startServer(port: number): void {\n  listen(port, '0.0.0.0');\n}\n",
    "web/panel.tsx": "export function Panel() {\n  return <div>cache</div>;\n}\n",
    "web/名前.js": "// キャッシュを消去する\nfunction clearAll() { cache.clear(); }\n",
    "docs/guide.md": "# Guide\n\nThe cache is cleared when a request fails.\n",
    "tests/test_cache.py": "from cache import Cache\n\n\ndef test_clear_cache():\n    Cache().clear_cache('a')\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder of the project."""
    return write_files(tmp_path / "project", FILES)


@pytest.fixture
def app(tmp_path: Path, workers: ProcessPool) -> Iterator[App]:
    """An application with an empty data folder."""
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        yield app


@pytest.fixture
def client(app: App, project: Path) -> ToolClient:
    """A session in the project."""
    return ToolClient(app.tools(), project)
