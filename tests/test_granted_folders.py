"""Folders from which an agent may add documentation: choosing a project grants nothing."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.errors import AddressRefused
from deltos.server.conversation import Conversation
from tests.calling import ToolClient
from tests.repositories import git, make_repository, write_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

PAGES = {"notes.md": "# Notes\n\nThe quokka sleeps.\n", "deep/more.md": "# More\n\nIt wakes.\n"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    return folder


@pytest.fixture
def client(home: Path, workers: ProcessPool) -> Iterator[ToolClient]:
    shared = write_files(home / "shared", PAGES)
    start = write_files(home / "start", PAGES)
    with closing(App(Config(home / "data", docs_roots=(shared,)), workers=workers)) as app:
        yield ToolClient(app.tools(), start)


def choose_project(client: ToolClient, folder: Path) -> None:
    client.call("set_working_directory", directory=str(folder))
    assert client.project_root() == folder


def test_choosing_a_folder_as_project_does_not_allow_adding_it_as_a_source(client: ToolClient, home: Path) -> None:
    keys = write_files(home / "keys", PAGES)
    with pytest.raises(AddressRefused, match="outside the folders"):
        client.call("add_source", url=str(keys))
    choose_project(client, keys)
    client.call("index_repository")  # indexing grants nothing either, because an agent can request it
    for url in (str(keys), ".", "notes.md", "deep", f"file://{keys}"):
        with pytest.raises(AddressRefused, match="outside the folders"):
            client.call("add_source", url=url)
    assert client.call("list_sources").text.startswith("No documentation sources")


def test_a_checkout_that_an_agent_chose_is_a_project_whose_documentation_it_may_add(
    client: ToolClient, home: Path
) -> None:
    choose_project(client, make_repository(home / "shop", {"docs/guide.md": "# Guide\n", "web/docs/a.md": "# A\n"}))
    assert client.call("add_source", url="docs").text.startswith("Added ")
    choose_project(client, home / "shop" / "web")
    assert client.call("add_source", url="docs", name="web").text.startswith("Added ")
    with pytest.raises(AddressRefused):
        client.call("add_source", url="../docs/guide.md", name="around")


def test_a_home_folder_that_is_a_repository_makes_nothing_below_it_a_project(client: ToolClient, home: Path) -> None:
    write_files(home, {".keys/readme.md": "# Keys\n"})
    git(home, "init", "-q")
    choose_project(client, home / ".keys")
    with pytest.raises(AddressRefused):
        client.call("add_source", url="readme.md")


def test_a_folder_that_only_looks_like_a_repository_is_not_one(client: ToolClient, home: Path) -> None:
    choose_project(client, write_files(home / "shaped", {**PAGES, ".git": "gitdir: /nowhere\n"}))
    with pytest.raises(AddressRefused):
        client.call("add_source", url="notes.md")


def test_start_and_configured_folders_stay_granted_after_choosing_a_project(client: ToolClient, home: Path) -> None:
    choose_project(client, write_files(home / "elsewhere", PAGES))
    assert client.call("add_source", url=str(home / "start" / "deep")).text.startswith("Added ")
    assert client.call("add_source", url=str(home / "shared")).text.startswith("Added ")


@pytest.mark.parametrize("start", [".", "..", "/"])
def test_a_server_that_was_started_in_the_home_folder_or_above_grants_no_folder(
    client: ToolClient, home: Path, start: str
) -> None:
    client.start = (home / start).resolve()
    write_files(home / ".keys", PAGES)
    with pytest.raises(AddressRefused):
        client.call("add_source", url=str(home / ".keys"))


def test_a_conversation_may_read_its_start_folder_and_its_clients_roots(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    conversation = Conversation(tmp_path / "start")
    conversation.set_client_roots([root.as_uri()])
    conversation.set_project_root(tmp_path / "chosen")
    assert conversation.granted_roots() == (tmp_path / "start", root)
