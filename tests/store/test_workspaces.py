"""What is promised of workspaces: folders under a name, in the order in which they came."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from deltos.store.workspaces import StoredWorkspace

if TYPE_CHECKING:
    from deltos.store.workspaces import WorkspaceRecords
    from tests.store.engines import Engine


def test_a_workspace_is_read_back_as_it_was_added(engine: Engine, workspaces: WorkspaceRecords) -> None:
    assert workspaces.add("shop", ["/srv/web", "/srv/api"]) == ["/srv/web", "/srv/api"]
    with closing(engine.workspaces()) as other:
        assert other.get("shop") == StoredWorkspace("shop", ("/srv/web", "/srv/api"))
        assert other.get("other") is None


def test_before_the_first_one_there_are_none(workspaces: WorkspaceRecords) -> None:
    assert workspaces.all() == []
    assert workspaces.get("shop") is None


def test_a_folder_is_in_a_workspace_once(workspaces: WorkspaceRecords) -> None:
    workspaces.add("shop", ["/srv/api"])
    assert workspaces.add("shop", ["/srv/api", "/srv/lib"]) == ["/srv/lib"]
    assert workspaces.get("shop") == StoredWorkspace("shop", ("/srv/api", "/srv/lib"))


def test_names_that_differ_in_case_alone_are_the_same(workspaces: WorkspaceRecords) -> None:
    workspaces.add("Shop", ["/srv/api"])
    workspaces.add("shop", ["/srv/lib"])
    assert workspaces.all() == [StoredWorkspace("Shop", ("/srv/api", "/srv/lib"))]


def test_workspaces_come_by_name_and_go_with_their_last_folder(workspaces: WorkspaceRecords) -> None:
    workspaces.add("tools", ["/srv/api"])
    workspaces.add("shop", ["/srv/api", "/srv/lib"])
    assert [each.name for each in workspaces.all()] == ["shop", "tools"]
    assert workspaces.remove("tools", ["/srv/api", "/srv/none"]) == ["/srv/api"]
    assert workspaces.remove("tools", ["/srv/api"]) == []
    assert [each.name for each in workspaces.all()] == ["shop"]
