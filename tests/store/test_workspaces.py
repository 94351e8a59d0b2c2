"""Stored workspaces: named lists of folders in the order in which they were added."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.errors import BadArgument, NotFound
from deltos.store.tokens import StoredToken
from deltos.store.workspaces import StoredWorkspace

if TYPE_CHECKING:
    from deltos.store.workspaces import WorkspaceRecords
    from tests.store.engines import Engine


def test_a_workspace_is_read_back_as_it_was_added(engine: Engine, workspaces: WorkspaceRecords) -> None:
    assert workspaces.add("shop", ["/srv/web", "/srv/api"]) == ["/srv/web", "/srv/api"]
    with closing(engine.workspaces()) as other:
        assert other.get("shop") == StoredWorkspace("shop", ("/srv/web", "/srv/api"))
        assert other.get("other") is None


def test_a_new_store_has_no_workspaces(workspaces: WorkspaceRecords) -> None:
    assert workspaces.all() == []
    assert workspaces.get("shop") is None


def test_a_folder_is_in_a_workspace_once(workspaces: WorkspaceRecords) -> None:
    workspaces.add("shop", ["/srv/api"])
    assert workspaces.add("shop", ["/srv/api", "/srv/lib"]) == ["/srv/lib"]
    assert workspaces.get("shop") == StoredWorkspace("shop", ("/srv/api", "/srv/lib"))


def test_workspace_names_are_case_insensitive(workspaces: WorkspaceRecords) -> None:
    workspaces.add("Shop", ["/srv/api"])
    workspaces.add("shop", ["/srv/lib"])
    assert workspaces.all() == [StoredWorkspace("Shop", ("/srv/api", "/srv/lib"))]


def test_workspaces_are_sorted_by_name_and_deleted_with_their_last_folder(workspaces: WorkspaceRecords) -> None:
    workspaces.add("tools", ["/srv/api"])
    workspaces.add("shop", ["/srv/api", "/srv/lib"])
    assert [each.name for each in workspaces.all()] == ["shop", "tools"]
    assert workspaces.remove("tools", ["/srv/api", "/srv/none"]) == ["/srv/api"]
    assert workspaces.remove("tools", ["/srv/api"]) == []
    assert [each.name for each in workspaces.all()] == ["shop"]


def token_for(projects: tuple[str, ...], token_id: str) -> StoredToken:
    return StoredToken(token_id, token_id, b"hash", "read", projects, 100)


def test_renaming_a_workspace_keeps_its_folders_and_updates_its_tokens(
    engine: Engine, workspaces: WorkspaceRecords
) -> None:
    workspaces.add("Shop", ["/srv/api", "/srv/lib"])
    workspaces.add("other", ["/srv/web"])
    with closing(engine.tokens()) as tokens:
        tokens.add(token_for(("/srv/web", "workspace:Shop"), "both"))
        tokens.add(token_for(("workspace:other",), "other"))
        tokens.add(token_for((), "all"))
        assert workspaces.rename("shop", "store") == 1
        kept = {token.id: token.projects for token in tokens.all()}
    assert kept == {"both": ("/srv/web", "workspace:store"), "other": ("workspace:other",), "all": ()}
    assert workspaces.get("shop") is None
    assert workspaces.get("store") == StoredWorkspace("store", ("/srv/api", "/srv/lib"))


def test_a_workspace_can_be_renamed_to_another_case(engine: Engine, workspaces: WorkspaceRecords) -> None:
    workspaces.add("shop", ["/srv/api"])
    with closing(engine.tokens()) as tokens:
        tokens.add(token_for(("workspace:shop",), "one"))
        assert workspaces.rename("shop", "Shop") == 1
        assert [token.projects for token in tokens.all()] == [("workspace:Shop",)]
    assert workspaces.all() == [StoredWorkspace("Shop", ("/srv/api",))]


def test_renaming_to_a_taken_name_is_refused(engine: Engine, workspaces: WorkspaceRecords) -> None:
    workspaces.add("shop", ["/srv/api"])
    workspaces.add("store", ["/srv/web"])
    with closing(engine.tokens()) as tokens:
        tokens.add(token_for(("workspace:shop",), "one"))
        with pytest.raises(BadArgument, match="A workspace 'store' already exists"):
            workspaces.rename("shop", "Store")
        with pytest.raises(NotFound, match="There is no workspace 'none'"):
            workspaces.rename("none", "free")
        assert [token.projects for token in tokens.all()] == [("workspace:shop",)]
    assert [each.name for each in workspaces.all()] == ["shop", "store"]


def test_a_workspace_can_be_renamed_without_tokens(workspaces: WorkspaceRecords) -> None:
    workspaces.add("shop", ["/srv/api"])
    assert workspaces.rename("shop", "store") == 0
    assert [each.name for each in workspaces.all()] == ["store"]
