"""Fixtures: a small project on disk, and a new data folder for every test of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SOURCES = {
    "src/cache.py": 'def clear_cache(name: str) -> None:\n    """Forget it."""\n    STORE.pop(name, None)\n',
    "src/server.ts": "export function startServer(port: number): void {\n  listen(port);\n}\n",
    "README.md": "# A project\n\nIt caches things.\n",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder that all commands use."""
    folder = tmp_path / "home"
    monkeypatch.setenv("DELTOS_HOME", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    """A folder with three small files."""
    root = tmp_path / "project"
    for path, text in SOURCES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root
