"""The repository map lists the most central files."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.budget import estimate_tokens
from deltos.config import Config
from deltos.federation.overview import page_rank, render_overview
from deltos.store.graph import ImportRow
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

CORE = '''class Store:
    """Keeps things."""

    size: int = 0

    def put(self, key: str, value: bytes) -> None:
        """Keep a value."""


def open_store(path: str) -> Store:
    return Store()
'''


def overview_text(workers: ProcessPool, folder: Path, files: dict[str, str], token_budget: int = 5_000) -> str:
    root = write_files(folder / "project", files)
    with closing(App(Config(folder / "home"), workers=workers)) as app:
        index = app.domains.projects.index_of(root)
        index.index()
        return render_overview(index, index.store.graph, token_budget=token_budget)


def test_most_used_file_comes_first_with_signatures(tmp_path: Path, workers: ProcessPool) -> None:
    users = {f"app/user_{n}.py": "from app.core import open_store\n\nopen_store('x').put('k', b'')\n" for n in range(4)}
    tests = {f"tests/test_{n}.py": "from app.user_0 import open_store\n" for n in range(9)}
    text = overview_text(
        workers, tmp_path, {"app/core.py": CORE, "app/lonely.py": "def alone(): ...\n", **users, **tests}
    )
    assert text.startswith("# project: 15 files")
    assert "Folders: tests 9, app 6" in text
    first = text.split("using files); 9 test files omitted:\n")[1]
    assert first.startswith("app/core.py\n")
    assert "def open_store(path: str) -> Store (13)" in first
    assert "Store: def put(self, key: str, value: bytes) -> None (4)" in first
    assert "size" not in first
    assert "tests/test_" not in first
    assert "1 def alone()" in first


def test_map_fits_its_budget_and_reports_omissions(tmp_path: Path, workers: ProcessPool) -> None:
    text = overview_text(
        workers, tmp_path, {f"m{n}.py": f"def function_{n}(): ...\n" for n in range(90)}, token_budget=300
    )
    assert text.startswith("Showing ")
    assert " of 90 files (" in text.splitlines()[0]
    assert estimate_tokens(text) <= 300


def test_counts_files_beyond_the_central_ones(tmp_path: Path, workers: ProcessPool) -> None:
    text = overview_text(workers, tmp_path, {f"m{n}.py": "x = 1\n" for n in range(70)})
    assert text.startswith("Showing 60 of 70 files (find_symbol and search_code list the others).\n")


def test_project_without_code_has_a_map(tmp_path: Path, workers: ProcessPool) -> None:
    assert "Languages: markdown 1" in overview_text(workers, tmp_path, {"README.md": "# Hello\n"})


def test_page_rank_follows_imports() -> None:
    rows = [("a", "core"), ("b", "core"), ("core", "deep"), ("c", "c")]
    weights = page_rank([ImportRow(path, target, 1, "runtime") for path, target in rows])
    assert weights["deep"] > weights["core"] > weights["a"]
    assert "c" not in weights
    assert page_rank([]) == {}


@pytest.mark.parametrize("name", ["a" * 200])
def test_truncates_long_signatures(tmp_path: Path, name: str, workers: ProcessPool) -> None:
    text = overview_text(workers, tmp_path, {"long.py": f"def {name}(): ...\n"})
    assert "a" * 90 in text
    assert name not in text
