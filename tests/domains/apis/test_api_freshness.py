"""Local descriptions are compared with the disk before a search, and changed ones are re-read."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from fuzz.inline_parser import InlineParser

from deltos.domains.apis import freshness
from deltos.domains.apis.domain import Apis, open_apis
from deltos.domains.apis.tools import api_tools
from deltos.store.sqlite.library import SqliteLibrary
from tests.calling import ToolClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def apis(tmp_path: Path) -> Iterator[Apis]:
    database = SqliteLibrary(tmp_path / "home" / "library.db")
    yield open_apis(database, network=None, parser=InlineParser(), clock=time.time)
    database.close()


@pytest.fixture
def client(apis: Apis, tmp_path: Path) -> ToolClient:
    return ToolClient(api_tools(lambda: apis, token_budget=5_000), tmp_path)


def openapi_description(title: str, *paths: str) -> dict[str, Any]:
    operation = {"post": {"summary": "Give money back", "responses": {"200": {"description": "done"}}}}
    return {"openapi": "3.1.0", "info": {"title": title, "version": "1"}, "paths": dict.fromkeys(paths, operation)}


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def show_endpoints(client: ToolClient, name: str = "shop", **filters: Any) -> str:
    return client.call("get_api_endpoints", api_name=name, **filters).text


def test_rereads_changed_description_before_answering(apis: Apis, client: ToolClient, tmp_path: Path) -> None:
    path = write_json(tmp_path / "openapi.json", openapi_description("Shop", "/refunds"))
    apis.indexer.add(str(path), "shop")
    assert "/refunds" in show_endpoints(client)
    write_json(path, openapi_description("Shop", "/paybacks"))
    shown = show_endpoints(client)
    assert "/paybacks" in shown
    assert "/refunds" not in shown
    assert "Note:" not in shown


def test_unchanged_description_is_not_reread(apis: Apis, client: ToolClient, tmp_path: Path) -> None:
    apis.indexer.add(str(write_json(tmp_path / "openapi.json", openapi_description("Shop", "/refunds"))), "shop")
    (before,) = apis.library.rows()
    show_endpoints(client)
    client.call("list_apis")
    assert apis.library.rows() == [before]


def test_detects_a_change_to_a_referenced_file(apis: Apis, client: ToolClient, tmp_path: Path) -> None:
    parts = write_json(
        tmp_path / "parts.json", {"Refund": {"type": "object", "properties": {"reason": {"type": "string"}}}}
    )
    api = openapi_description("Shop", "/refunds")
    content = {"application/json": {"schema": {"$ref": "parts.json#/Refund"}}}
    api["paths"]["/refunds"]["post"]["requestBody"] = {"content": content}
    apis.indexer.add(str(write_json(tmp_path / "openapi.json", api)), "shop")
    assert "reason" in show_endpoints(client, method="post")
    write_json(parts, {"Refund": {"type": "object", "properties": {"excuse": {"type": "string"}}}})
    assert "excuse" in show_endpoints(client, method="post")


def test_detects_new_changed_and_removed_files_of_a_folder(apis: Apis, client: ToolClient, tmp_path: Path) -> None:
    write_json(tmp_path / "apis/shop.json", openapi_description("Shop", "/refunds"))
    gone = write_json(tmp_path / "apis/cellar.json", openapi_description("Cellar", "/bottles"))
    apis.indexer.add(str(tmp_path / "apis"))
    write_json(tmp_path / "apis/bakery.json", openapi_description("Bakery", "/loaves"))
    assert "Bakery" in client.call("list_apis").text
    gone.unlink()
    listed = client.call("list_apis").text
    assert "Cellar" not in listed
    assert "Shop" in listed


def test_unreadable_description_keeps_its_old_version_with_a_note(
    apis: Apis, client: ToolClient, tmp_path: Path
) -> None:
    path = write_json(tmp_path / "openapi.json", openapi_description("Shop", "/refunds"))
    apis.indexer.add(str(path), "shop")
    path.write_text("{ half of it")
    shown = show_endpoints(client)
    assert shown.startswith("Note: shop changed on disk but could not be re-read (")
    assert "/refunds" in shown
    path.unlink()
    assert show_endpoints(client).startswith(
        "Note: the file of shop no longer exists; results are from the last version."
    )


def test_a_timeout_before_all_files_are_checked_gives_a_note(
    apis: Apis, client: ToolClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apis.indexer.add(str(write_json(tmp_path / "openapi.json", openapi_description("Shop", "/refunds"))), "shop")
    monkeypatch.setattr(freshness, "_COMPARE_TIMEOUT_SECONDS", -1.0)
    assert "not checked for changes within the time limit: shop. recrawl_source updates them" in show_endpoints(client)
