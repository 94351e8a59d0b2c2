"""Folders, indexes and memories that a confined call can reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.confinement import Confinement, check_folder, confined, may_read
from deltos.errors import AddressRefused, Forbidden, NotFound
from deltos.workspace.identity import identify, memory_scopes
from tests.calling import ToolClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def client(tmp_path: Path) -> Iterator[ToolClient]:
    """All tools, in a project with another project next to it."""
    for name in ("mine", "theirs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(f"def of_{name}(): pass\n")
    app = App(Config(tmp_path / "home"))
    yield ToolClient(app.tools(), tmp_path / "mine")
    app.close()


def confine_to(root: Path) -> Confinement:
    return Confinement((root.resolve(),), memory_scopes([root]))


def test_paths_with_links_or_dots_cannot_leave_the_confinement(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "out").symlink_to(tmp_path)
    (inside / "loop").symlink_to(inside / "loop")
    with confined(Confinement((inside.resolve(),))):
        assert may_read(inside / "new" / "folder")
        for path in (tmp_path, inside / "..", inside / "out", inside / "out" / "inside" / "..", inside / "loop" / "x"):
            assert not may_read(path)
    check_folder(tmp_path)  # the confinement has ended


def test_the_error_for_outside_folders_does_not_reveal_whether_they_exist(client: ToolClient) -> None:
    refusals = set()
    with confined(confine_to(client.root)):
        for name, argument in (
            ("get_stats", "project_path"),
            ("index_repository", "repo_path"),
            ("set_working_directory", "directory"),
        ):
            for path in ("../theirs", "../missing", "/etc", "~"):
                with pytest.raises(Forbidden) as refused:
                    client.call(name, progress=None, **{argument: path})
                refusals.add(str(refused.value))
        assert "of_mine" in client.call("search_code", query="of_mine").text
    assert len(refusals) == 1


def test_projects_outside_cannot_be_named_by_id(client: ToolClient) -> None:
    theirs = client.root.with_name("theirs")
    client.call("index_repository", repo_path=str(theirs))
    project_id = identify(theirs).project_id
    with confined(confine_to(client.root)), pytest.raises(NotFound) as unknown:
        client.call("search_code", query="of_theirs", project_id=project_id)
    assert "theirs" not in str(unknown.value).replace(project_id, "")
    assert "of_theirs" in client.call("search_code", query="of_theirs", project_id=project_id).text


def test_documentation_outside_cannot_be_added(client: ToolClient) -> None:
    (client.root.parent / "secret.md").write_text("# Secret\n\ntext")
    with confined(confine_to(client.root)), pytest.raises(AddressRefused, match="outside"):
        client.call("add_source", url="../secret.md", name="s")


def test_memories_of_other_projects_are_neither_shown_nor_changed(client: ToolClient) -> None:
    mine, theirs = client.root, identify(client.root.with_name("theirs")).project_id
    client.set_project_root(client.root.with_name("theirs"))
    hidden = client.data("remember", text="They chose PostgreSQL for billing")["id"]
    client.set_project_root(mine)
    personal = client.data("remember", text="I prefer PostgreSQL", project_id="personal")["id"]
    own = client.data("remember", text="We chose PostgreSQL for orders")["id"]
    with confined(confine_to(client.root)):
        for scope in ("", "all", "personal"):
            assert {hit["id"] for hit in client.data("search", query="PostgreSQL", project_id=scope)["results"]} <= {
                own
            }
        for unreachable in (theirs, "path:of-nobody"):  # the same error, so it does not reveal which projects exist
            with pytest.raises(NotFound, match=f"^[^.]*{unreachable}"):
                client.call("search", query="PostgreSQL", project_id=unreachable)
        for identifier in (hidden, personal):
            with pytest.raises(NotFound):
                client.call("fetch", id=identifier)
            with pytest.raises(NotFound):
                client.call("forget", ids=[identifier])
            with pytest.raises(NotFound):
                client.call("timeline", around=identifier)
        assert client.data("fetch", id=own)["id"] == own
        for unreachable in (theirs, "path:of-nobody"):
            with pytest.raises(Forbidden):
                client.call("remember", text="Overwritten", project_id=unreachable)
    assert client.data("fetch", id=hidden)["id"] == hidden
