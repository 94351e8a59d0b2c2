"""A token for a folder of a repository gives access only to commits that touch the folder, and only to their changes
inside it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from deltos.server.access import Level
from tests.domains.history.repositories import commit, create_repository
from tests.server.over_http.served import Served
from tests.server.over_http.test_access import bearer, create_token

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Shop:
    """A server for a repository with two folders, a token for one folder and a token for all projects."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = create_repository(tmp_path / "shop")
        self.both = commit(
            self.root,
            "Begin with plans",
            {"api/a.py": "def of_api():\n    return 1\n", "web/b.py": "secret_of_web = 1\n"},
        )
        self.web = commit(self.root, "Zeppelin plans of the web", {"web/b.py": "secret_of_web = 2\n"}, day=1)
        self.api = commit(self.root, "Polish plans of the api", {"api/a.py": "def of_api():\n    return 2\n"}, day=2)
        home = tmp_path / "home"
        narrow, wide = create_token(home, Level.ADMIN, self.root / "api"), create_token(home, Level.ADMIN)
        command = [sys.executable, "-P", "-m", "deltos", "mcp", str(self.root / "api"), "--http", "127.0.0.1:0"]
        self.server = Served([*command, "--require-token", "--root", str(self.root)], home)
        self.narrow = self.server.open_session(bearer(narrow))
        self.wide = self.server.open_session(bearer(wide))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    made = Shop(tmp_path_factory.mktemp("shop"))
    yield made
    made.server.shut_down()


def test_search_finds_only_commits_that_touch_the_folder(shop: Shop) -> None:
    found = shop.server.text("search", shop.narrow, query="when were the plans made")
    assert f"commit:{shop.api[:10]}" in found
    assert f"commit:{shop.both[:10]}" in found
    assert shop.web[:10] not in found
    assert "Zeppelin" not in found
    assert "Begin with plans (1 file)" in found


def test_fetch_shows_only_the_part_of_a_commit_inside_the_folder(shop: Shop) -> None:
    whole = shop.server.text("fetch", shop.narrow, id=f"commit:{shop.both}")
    assert "+def of_api():" in whole
    assert "web" not in whole
    assert "secret_of_web" not in whole


def test_a_commit_outside_the_folder_is_not_found(shop: Shop) -> None:
    unknown = "f" * 40
    answers = [shop.server.call("fetch", shop.narrow, id=f"commit:{each}") for each in (shop.web, unknown)]
    texts = [answer["content"][0]["text"] for answer in answers]
    assert all(answer["isError"] for answer in answers)
    assert texts[0].replace(shop.web, unknown) == texts[1]


def test_no_project_id_gives_access_to_other_folders_of_the_repository(shop: Shop) -> None:
    assert shop.server.call("set_working_directory", shop.wide, directory=str(shop.root)).get("isError", False) is False
    everything = shop.server.text("search", shop.wide, query="when were the zeppelin plans made")
    assert f"commit:{shop.web[:10]}" in everything
    project_id = shop.server.call("index_repository", shop.wide, repo_path=str(shop.root))
    name = (project_id.get("structuredContent") or {}).get("project_id", "")
    found = shop.server.text("search", shop.narrow, query="when were the zeppelin plans made", project_id=name)
    assert shop.web[:10] not in found
    assert "Zeppelin" not in found
    answer = shop.server.call("fetch", shop.narrow, id=f"commit:{name}!{shop.web}")
    assert answer["isError"]


def test_context_names_no_commit_outside_the_folder(shop: Shop) -> None:
    text = shop.server.text("get_context", shop.narrow, symbol="of_api")
    assert f"commit:{shop.api[:10]}" in text
    assert shop.web[:10] not in text
