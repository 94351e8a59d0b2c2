"""What lies in another project is not asked about in this one, unless it was added here or all projects are meant."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.domains.docs.library import NewSource
from deltos.errors import NotFound
from tests.calling import Desk
from tests.repositories import make_repository, write_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process import Workers
    from deltos.tool import JsonObject

API = """openapi: 3.0.0
info: {title: Till, version: "1"}
paths:
  /limits: {get: {summary: List rate limits, operationId: listLimits, responses: {"200": {description: ok}}}}
"""
SHOP = {"shop.py": 'def too_many(calls):\n    """Whether the rate limit is reached."""\n    return calls > 9\n'}
TILL = {"docs/limits.md": "# Rate limit\n\nThe rate limit of the till; see `too_many`.\n", "openapi.yaml": API}


class Place(NamedTuple):
    """The application and the folder that all projects lie in."""

    app: App
    folder: Path

    def add(self, path: str, added_in: str) -> None:
        """Add documentation or an API while working in a project."""
        root, library = self.folder / added_in, self.app.domains.docs.library
        new = NewSource(str(self.folder / path), "", root, (self.folder,))
        for source in library.add(new).sources:
            library.crawls.start(source.id)
            library.crawls.wait(source.id)

    def kinds(self, project: str, **arguments: str) -> list[str]:
        """The kinds of what is found in a project about rate limits."""
        results = self._search(project, **arguments)["results"]
        return sorted({result["id"].partition(":")[0] for result in results} - {"commit"})

    def install(self, project: str, version: str = "1.0") -> None:
        """Install the package gadget for a project."""
        write_files(
            self.folder / project / ".venv/lib/python3.11/site-packages",
            {
                f"gadget-{version}.dist-info/METADATA": f"Name: gadget\nVersion: {version}\n\nA gadget.\n",
                f"gadget-{version}.dist-info/RECORD": "gadget.py,,\n",
                "gadget.py": 'def rate_limit(calls):\n    """The rate limit of the gadget."""\n    return calls\n',
            },
        )

    def notes(self, project: str) -> str:
        """What a search in a project says beside its results."""
        found = self._search(project)
        return f"{found.get('notes', '')} {found['note']}"

    def _search(self, project: str, **arguments: str) -> JsonObject:
        desk = Desk(self.app.tools(), self.folder / project)
        return desk.data("search", query="rate limit", **arguments)


@pytest.fixture
def place(tmp_path: Path, workers: Workers) -> Iterator[Place]:
    folder = tmp_path / "code"
    make_repository(folder / "shop", SHOP)
    make_repository(folder / "till", TILL)
    write_files(folder / "handbook", {"limits.md": "# Rate limit\n\nWhat we say of the rate limit.\n"})
    (folder / "empty").mkdir()
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        yield Place(app, folder)


def test_documentation_and_apis_of_another_project_are_not_asked_and_named(place: Place) -> None:
    place.add("till/docs", "till")
    place.add("till/openapi.yaml", "till")
    assert place.kinds("till") == ["api", "doc"]
    assert place.kinds("shop") == ["code"]
    assert place.kinds("empty") == []
    assert "Not searched, as of other projects: docs, openapi.yaml (project_id=* does)" in place.notes("empty")
    assert "Not searched" not in place.notes("shop")  # something answers there
    assert "Not searched" not in place.notes("till")
    desk = Desk(place.app.tools(), place.folder / "shop")
    assert "The rate limit of the till" not in desk.call("get_context", symbol="too_many").text
    assert "The rate limit of the till" in desk.call("search_docs", query="rate limit").text


def test_they_are_asked_where_they_were_added_or_where_every_project_is_meant(place: Place) -> None:
    place.add("till/docs", "shop")
    assert place.kinds("shop") == ["code", "doc"]
    assert place.kinds("empty") == []
    assert "doc" in place.kinds("empty", project_id="*")
    desk = Desk(place.app.tools(), place.folder / "shop")
    assert "The rate limit of the till" in desk.call("get_context", symbol="too_many").text


def test_a_package_answers_where_it_is_installed_or_required_or_asked_for_by_name(place: Place) -> None:
    place.install("till")
    till, shop = (Desk(place.app.tools(), place.folder / name) for name in ("till", "shop"))
    assert "The rate limit of the gadget" in till.call("search_docs", query="rate limit", source="pypi:gadget").text
    assert place.kinds("till") == ["code", "doc"]
    assert place.kinds("shop") == ["code"]
    assert place.kinds("empty") == []
    assert "doc" in place.kinds("empty", project_id="*")
    nothing = shop.call("search_docs", query="rate limit").text
    assert nothing.endswith("Note: not searched, as of other projects: gadget (source=NAME asks one).")
    assert "The rate limit of the gadget" in shop.call("search_docs", query="rate limit", source="gadget").text
    assert "gadget" not in shop.call("get_context", symbol="too_many").text
    with pytest.raises(NotFound):
        shop.call("find_references", symbol="gadget.rate_limit")
    assert "in an installed package" in till.call("find_references", symbol="gadget.rate_limit").text
    write_files(place.folder / "shop", {"requirements.txt": "gadget>=1\n"})
    assert place.kinds("shop") == ["code", "doc"]
    place.install("shop", "2.0")  # what answers is of another version
    assert place.kinds("shop") == ["code"]


def test_a_folder_outside_of_every_project_is_for_all_of_them(place: Place) -> None:
    place.add("handbook", "till")
    assert place.kinds("shop") == ["code", "doc"]
    Desk(place.app.tools(), place.folder / "handbook").call("index_repository")
    assert place.kinds("shop") == ["code"]  # it is a project by now


def test_a_folder_of_a_repository_has_the_documentation_of_the_whole(place: Place) -> None:
    write_files(place.folder / "till" / "web", {"a.py": "x = 1\n"})
    place.add("till/docs", "till")
    assert place.kinds("till/web") == ["doc"]
