"""Sources of other projects are searched only if they were added here or all projects are selected."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.domains.docs.library import NewSource
from deltos.errors import NotFound
from tests.calling import ToolClient
from tests.repositories import make_repository, write_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool
    from deltos.tool import JsonObject

API = """openapi: 3.0.0
info: {title: Till, version: "1"}
paths:
  /limits: {get: {summary: List rate limits, operationId: listLimits, responses: {"200": {description: ok}}}}
"""
SHOP = {"shop.py": 'def too_many(calls):\n    """Whether the rate limit is reached."""\n    return calls > 9\n'}
TILL = {"docs/limits.md": "# Rate limit\n\nThe rate limit of the till; see `too_many`.\n", "openapi.yaml": API}


class ProjectsFolder(NamedTuple):
    """An application and the folder that contains all projects."""

    app: App
    folder: Path

    def add(self, path: str, added_in: str, *, shared: bool = False) -> None:
        """Add documentation or an API from within a project."""
        root, library = self.folder / added_in, self.app.domains.docs.library
        new = NewSource(str(self.folder / path), "", root, (self.folder,), shared=shared)
        for source in library.add(new).sources:
            library.crawls.start(source.id)
            library.crawls.wait(source.id)

    def kinds(self, project: str, **arguments: str) -> list[str]:
        """Return the kinds of results about rate limits in a project."""
        results = self._search(project, **arguments)["results"]
        return sorted({result["id"].partition(":")[0] for result in results} - {"commit"})

    def install(self, project: str, version: str = "1.0") -> None:
        """Install the package gadget in a project."""
        write_files(
            self.folder / project / ".venv/lib/python3.11/site-packages",
            {
                f"gadget-{version}.dist-info/METADATA": f"Name: gadget\nVersion: {version}\n\nA gadget.\n",
                f"gadget-{version}.dist-info/RECORD": "gadget.py,,\n",
                "gadget.py": 'def rate_limit(calls):\n    """The rate limit of the gadget."""\n    return calls\n',
            },
        )

    def notes(self, project: str) -> str:
        """Return the notes of a search in a project."""
        found = self._search(project)
        return f"{found.get('notes', '')} {found['note']}"

    def _search(self, project: str, **arguments: str) -> JsonObject:
        client = ToolClient(self.app.tools(), self.folder / project)
        return client.data("search", query="rate limit", **arguments)


@pytest.fixture
def projects_folder(tmp_path: Path, workers: ProcessPool) -> Iterator[ProjectsFolder]:
    folder = tmp_path / "code"
    make_repository(folder / "shop", SHOP)
    make_repository(folder / "till", TILL)
    write_files(folder / "handbook", {"limits.md": "# Rate limit\n\nWhat we say of the rate limit.\n"})
    (folder / "empty").mkdir()
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        yield ProjectsFolder(app, folder)


def test_sources_of_another_project_are_skipped_and_named(projects_folder: ProjectsFolder) -> None:
    projects_folder.add("till/docs", "till")
    projects_folder.add("till/openapi.yaml", "till")
    assert projects_folder.kinds("till") == ["api", "doc"]
    assert projects_folder.kinds("shop") == ["code"]
    assert projects_folder.kinds("empty") == []
    assert "Not searched (other projects): docs, openapi.yaml (project_id=* searches them)" in projects_folder.notes(
        "empty"
    )
    assert "Not searched" not in projects_folder.notes("shop")  # another source of that project answers the query
    assert "Not searched" not in projects_folder.notes("till")
    client = ToolClient(projects_folder.app.tools(), projects_folder.folder / "shop")
    assert "The rate limit of the till" not in client.call("get_context", symbol="too_many").text
    assert "The rate limit of the till" not in client.call("search_docs", query="rate limit").text
    assert "The rate limit of the till" in client.call("search_docs", query="rate limit", source="docs").text
    assert "GET /limit" not in client.call("search_docs", query="rate limit").text
    assert "Only in other projects: docs, openapi.yaml" in client.call("list_sources").text
    assert "Only in other projects: openapi.yaml" in client.call("list_apis").text


def test_sources_are_searched_where_added_or_with_all_projects(projects_folder: ProjectsFolder) -> None:
    projects_folder.add("till/docs", "shop")
    assert projects_folder.kinds("shop") == ["code", "doc"]
    assert projects_folder.kinds("empty") == []
    assert "doc" in projects_folder.kinds("empty", project_id="*")
    client = ToolClient(projects_folder.app.tools(), projects_folder.folder / "shop")
    assert "The rate limit of the till" in client.call("get_context", symbol="too_many").text


def test_package_is_searched_where_installed_required_or_named(projects_folder: ProjectsFolder) -> None:
    projects_folder.install("till")
    till, shop = (ToolClient(projects_folder.app.tools(), projects_folder.folder / name) for name in ("till", "shop"))
    assert "The rate limit of the gadget" in till.call("search_docs", query="rate limit", source="pypi:gadget").text
    assert projects_folder.kinds("till") == ["code", "doc"]
    assert projects_folder.kinds("shop") == ["code"]
    assert projects_folder.kinds("empty") == []
    assert "doc" in projects_folder.kinds("empty", project_id="*")
    nothing = shop.call("search_docs", query="rate limit").text
    assert "Note: not searched because they belong to other projects: gadget (search one with source=NAME)." in nothing
    assert "The rate limit of the gadget" in shop.call("search_docs", query="rate limit", source="gadget").text
    assert "gadget" not in shop.call("get_context", symbol="too_many").text
    with pytest.raises(NotFound):
        shop.call("find_references", symbol="gadget.rate_limit")
    assert "in an installed package" in till.call("find_references", symbol="gadget.rate_limit").text
    write_files(projects_folder.folder / "shop", {"requirements.txt": "gadget>=1\n"})
    assert projects_folder.kinds("shop") == ["code", "doc"]
    projects_folder.install("shop", "2.0")  # the result belongs to another version
    assert projects_folder.kinds("shop") == ["code"]


def test_folder_outside_projects_is_searched_where_it_was_added_or_shared(projects_folder: ProjectsFolder) -> None:
    projects_folder.add("handbook", "till")
    assert projects_folder.kinds("till") == ["code", "doc"]
    assert projects_folder.kinds("shop") == ["code"]
    projects_folder.add("handbook", "till", shared=True)
    assert projects_folder.kinds("shop") == ["code", "doc"]


def test_subfolder_project_sees_documentation_of_its_repository(projects_folder: ProjectsFolder) -> None:
    write_files(projects_folder.folder / "till" / "web", {"a.py": "x = 1\n"})
    projects_folder.add("till/docs", "till")
    assert projects_folder.kinds("till/web") == ["doc"]
