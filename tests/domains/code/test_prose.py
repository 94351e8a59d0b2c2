"""Documentation in code search is found if no code answers the query, and ranked after matching code."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.wording import COMMITS_MARK
from tests.calling import ToolClient
from tests.domains.code.code_queries import paths, search
from tests.domains.history.repositories import commit, create_repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

FILES = {
    "README.md": "# Shop\n\nAn API and its client.\n\n## Developing\n\n`make check` runs all tests before you push.\n",
    "docs/returns.md": "# Returns\n\nWithin 14 days.\n\n# Deploying\n\nRun `./ship.sh staging` first.\n",
    "docs/serving.rst": (
        "=======\nServing\n=======\n\nBehind a proxy.\n\n"
        "Graceful shutdown\n-----------------\n\nWorkers end what they have begun.\n\n"
        "Signals\n~~~~~~~\n\nTERM, then KILL.\n"
    ),
    "docs/keys.adoc": "= Keys\n\nWho has them.\n\n== Lost credentials\n\nAsk for new ones.\n",
    "CHANGELOG.md": "# Changes\n\n- The price is rounded to the cent in every answer.\n",
    "api/orders.py": "def place_order(customer, items):\n    return sum(price for _, price in items)\n",
    "api/prices.py": "def round_price(amount):\n    # a price in cents\n    return round(amount, 2)\n",
    "api/server.py": "def serve(port):\n    while True:\n        handle(port)\n",
    "web/client.ts": "export class Client {\n  order(id: number) { return fetch(`/orders/${id}`); }\n}\n",
    "tests/test_orders.py": "def test_an_order_runs():\n    assert place_order('a', []) == 0\n",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, workers: ProcessPool) -> Iterator[ToolClient]:
    """A session in a project with a single commit, as new projects have."""
    home = tmp_path_factory.mktemp("home")
    root: Path = create_repository(tmp_path_factory.mktemp("projects") / "shop")
    commit(root, "Deploy the first shop", FILES)
    with closing(App(Config(home), workers=workers)) as app:
        app.domains.projects.index_of(root).index()
        app.domains.projects.index_of(root).catch_up()
        yield ToolClient(app.tools(), root)


@pytest.mark.parametrize(
    ("query", "path", "symbol"),
    [
        ("deploying", "docs/returns.md", "Deploying"),
        ("graceful shutdown", "docs/serving.rst", "Serving.Graceful shutdown"),
        ("lost credentials", "docs/keys.adoc", "Keys.Lost credentials"),
        ("how do I run the tests", "README.md", "Shop.Developing"),
    ],
)
def test_prose_is_found_if_code_does_not_cover_the_query(
    client: ToolClient, query: str, path: str, symbol: str
) -> None:
    first = search(client, query)["results"][0]
    assert (first["file_path"], first["symbol"]) == (path, symbol)


def test_code_comes_before_a_changelog_with_its_words(client: ToolClient) -> None:
    assert paths(search(client, "rounded price"))[0] == "api/prices.py"


def test_a_commit_that_touched_all_files_supports_none(client: ToolClient) -> None:
    """The only commit is about deploying and touched every file, so it says nothing about any of them."""
    assert COMMITS_MARK not in client.call("search_code", query="deploy the first shop", limit=20).text
