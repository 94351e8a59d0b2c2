"""Relevance goldens: changed rankings are visible as reviewable changes to rankings.txt.

`pytest tests/relevance --rewrite-goldens` writes the current results.
"""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from tests.repositories import write_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.code.search import CodeSearch
    from deltos.isolated.process_pool import ProcessPool

HERE = Path(__file__).parent
GOLDEN_FILE = HERE / "rankings.txt"
SHOWN_RESULTS = 5


def unpack(archive: Path, root: Path) -> Path:
    """Write the files of an archive below `root`."""
    _, *rest = re.split(r"^-- (.+) --\n", archive.read_text("utf-8"), flags=re.MULTILINE)
    return write_files(root, dict(zip(rest[::2], rest[1::2], strict=True)))


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory, workers: ProcessPool) -> Iterator[CodeSearch]:
    """A search over the bookshop example."""
    folder = tmp_path_factory.mktemp("relevance")
    with closing(App(Config(folder / "home"), workers=workers)) as app:
        index = app.domains.projects.index_of(unpack(HERE / "bookshop.txtar", folder / "bookshop"))
        index.index()
        yield app.code_search(index)


def format_ranking(search: CodeSearch, query: str) -> str:
    """Format the first results of a query."""
    answer = search.search(query, limit=SHOWN_RESULTS)
    lines = [f"{hit.path}:{hit.start_line}-{hit.end_line} {hit.symbol}".rstrip() for hit in answer.hits]
    return "\n".join([query, *(f"    {line}" for line in lines)])


def test_rankings_equal_the_reviewed_rankings(search: CodeSearch, pytestconfig: pytest.Config) -> None:
    queries = (HERE / "queries.txt").read_text("utf-8").splitlines()
    found = "\n".join(format_ranking(search, query) for query in queries) + "\n"
    if pytestconfig.getoption("--rewrite-goldens"):
        GOLDEN_FILE.write_text(found, "utf-8")
    assert found.splitlines() == GOLDEN_FILE.read_text("utf-8").splitlines()
