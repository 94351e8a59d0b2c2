"""Adding, naming, refreshing and removing APIs from files and folders, including invalid input."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deltos.domains.apis.description import read_description
from deltos.domains.apis.document import ApiDocument
from deltos.domains.apis.index import slug
from deltos.domains.apis.model import Api
from deltos.errors import BadArgument, NotFound, NothingToIndex, SourceError
from deltos.store.apis import NewUnit, UnitWords

if TYPE_CHECKING:
    from deltos.domains.apis.domain import Apis

Add = Callable[..., Api]
MINIMAL = "openapi: 3.0.0\ninfo: {title: TITLE, version: 'VERSION'}\npaths: {/a: {get: {summary: Get a}}}\n"


def minimal_description(title: str, version: str = "1") -> str:
    return MINIMAL.replace("TITLE", title).replace("VERSION", version)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("The Stripe API", "stripe"),
        ("Netlify's API documentation", "netlify"),
        ("REST API", "rest-api"),
        ("GitHub's official OpenAPI spec + Octokit extension", "github"),
        ("GitHub v3 REST API", "github"),
        ("API v2", "api-v2"),
        ("API + Console", "console"),
        ("google.pubsub.v1", "google.pubsub.v1"),
        ("Über Straße", "über-straße"),
        ("", ""),
    ],
)
def test_slug_shortens_titles(title: str, name: str) -> None:
    assert slug(title) == name


def test_api_without_title_is_named_after_its_file(add: Add) -> None:
    assert add("type Query { a: Int }", file_name="shop.graphql").name == "shop"
    assert add("openapi: 3.0.0\npaths: {}", file_name="pets.openapi.yaml").name == "pets"


def test_same_title_gives_two_names_and_a_warning(add: Add) -> None:
    assert add(minimal_description("Same"), file_name="one.yaml").name == "same"
    second = add(minimal_description("Same", "2"), file_name="two.yaml")
    assert second.name == "same-2"
    assert "Another API has the name 'same'" in second.warnings[0]
    assert add(minimal_description("Same", "2"), file_name="three.yaml").name == "same-3"


def test_refuses_a_used_name(add: Add) -> None:
    add(minimal_description("One"), "mine", "one.yaml")
    with pytest.raises(BadArgument, match="An API with the name 'Mine' already exists"):
        add(minimal_description("Two"), "Mine", "two.yaml")


def test_adding_a_file_again_replaces_it(apis: Apis, add: Add) -> None:
    add(minimal_description("One"))
    add(minimal_description("One", "2"))
    assert [(api.name, api.overview.version) for api in apis.library.apis()] == [("one", "2")]


def test_adds_every_description_of_a_folder(apis: Apis, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    for name, text in {
        "api/openapi.yaml": minimal_description("First"),
        "api/second.txt": minimal_description("Second"),
        "broken.json": '{"openapi": "3.0.0", "paths": {',
        "package.json": '{"name": "x"}',
        "code.ts": "export type Query = { a: string };\n",
        "schema/a.graphql": "type Query {\n  a: A\n}\n",
        "schema/b.graphql": "type A {\n  b: Int\n}\n",
        "node_modules/x/openapi.yaml": minimal_description("Not mine"),
        ".hidden/openapi.yaml": minimal_description("Hidden"),
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "photo.png").write_bytes(b"\x89PNG\x00")
    os.mkfifo(folder / "pipe")
    (folder / "outside.yaml").symlink_to("/etc/hostname")
    report = apis.indexer.add(str(folder), "mine")
    assert [api.name for api in report.apis] == ["mine-first", "mine-second", "mine-project"]
    assert report.apis[2].schema_count == 2
    (failure,) = report.failures
    assert failure.document == "project/broken.json"
    assert "Not valid JSON" in failure.reason


def test_folder_with_one_schema_file_is_named_after_it(apis: Apis, tmp_path: Path) -> None:
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "shop.graphql").write_text("type Query {\n  a: Int\n}\n")
    (api,) = apis.indexer.add(str(tmp_path / "g")).apis
    assert (api.name, api.citation) == ("shop", "g/shop.graphql")


def test_folder_without_descriptions_is_an_error(apis: Apis, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingToIndex, match="No API description"):
        apis.indexer.add(str(tmp_path / "empty"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("hello: world\n", "Not an API description"),
        ("just words", "Not an API description"),
        ("<html><p>openapi: 3</p></html>", "Not an API description"),
        ("query Q { a(b: 1) { c } }", "Not an API description"),
        ('{"name": "x"}', "Not an API description"),
        ("[1, 2]", "Not an API description"),
        ('{"openapi": "3.0.0"', "Not valid JSON"),
        ("openapi: 3.0.0\n  bad: [", "Not valid YAML"),
        (b"\xff\xd8\xff\x00", "Not an API description"),
    ],
)
def test_other_files_give_a_clear_error(apis: Apis, tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SourceError, match=message):
        apis.indexer.add(str(path))
    assert apis.library.apis() == []


def test_refuses_missing_files_and_unsupported_addresses(apis: Apis, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="No such file or folder"):
        apis.indexer.add(str(tmp_path / "gone.yaml"))
    with pytest.raises(SourceError, match="network access is disabled"):
        apis.indexer.add("https://x.example/openapi.json")


def test_refuses_a_named_pipe_without_waiting(apis: Apis, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="not a regular file"):
        apis.indexer.add(str(tmp_path / "pipe"))


def test_refuses_too_large_file_without_reading_it(apis: Apis, tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(100_000_001)
    with pytest.raises(SourceError, match="100,000,001 bytes"):
        apis.indexer.add(str(path))
    with pytest.raises(SourceError, match="bytes"):
        read_description(ApiDocument(b" " * 100_000_001, "x"))


def test_indexes_and_shows_deep_nesting_within_limits(apis: Apis, add: Add) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(150):
        schema = {"type": "object", "properties": {"in": schema}}
    body = {"content": {"application/json": {"schema": schema}}}
    add({"openapi": "3.0.0", "info": {"title": "Deep"}, "paths": {"/a": {"post": {"requestBody": body}}}})
    (hit,) = apis.searcher.search("POST /a", api_name="deep", types=["endpoint"])
    assert "in: object" in hit.text


def test_remove_deletes_everything(apis: Apis, add: Add, shop: dict[str, Any]) -> None:
    add(shop)
    assert apis.indexer.remove("Shop") == ("shop",)
    assert apis.library.apis() == []
    assert apis.searcher.search("orders") == []
    assert apis.searcher.count_searchable() == 0
    with pytest.raises(NotFound):
        apis.indexer.remove("shop")


def test_removes_all_apis_of_a_source_by_its_name(apis: Apis, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a.yaml").write_text(minimal_description("A1"))
    (tmp_path / "s" / "b.yaml").write_text(minimal_description("B1"))
    apis.indexer.add(str(tmp_path / "s"), "both")
    assert apis.indexer.remove("both") == ("both-a1", "both-b1")


def test_description_found_by_a_crawl_is_indexed_under_its_url(apis: Apis) -> None:
    (api,) = apis.indexer.add_found(minimal_description("Found").encode(), "https://docs.example/openapi.yaml").apis
    assert (api.name, api.citation) == ("found", "https://docs.example/openapi.yaml")
    with pytest.raises(BadArgument):
        apis.indexer.add_found(b"{}", "https://other.example/x", "found")


def test_references_are_not_followed_without_a_network(apis: Apis) -> None:
    text = "openapi: 3.0.0\ninfo: {title: F}\npaths: {/a: {$ref: 'other.yaml'}}\n"
    (api,) = apis.indexer.add_found(text.encode(), "https://docs.example/openapi.yaml").apis
    assert "not followed" in api.warnings[0] or "not followed" in api.warnings[1]


def _description_with_operation(**fields: Any) -> dict[str, Any]:
    return {"openapi": "3.0.0", "info": {"title": "C", "version": "1"}, "paths": {"/a": {"post": fields}}}


def _with_request_body(schema: Any, *, required: bool = True, media: str = "application/json") -> dict[str, Any]:
    return {"requestBody": {"required": required, "content": {media: {"schema": schema}}}}


def _with_query_parameter(**fields: Any) -> dict[str, Any]:
    return {"parameters": [{"name": "q", "in": "query", **fields}]}


def _with_response(schema: Any, status: str = "200", media: str = "application/json") -> dict[str, Any]:
    return {"responses": {status: {"description": "", "content": {media: {"schema": schema}}}}}


_STRING, _INTEGER = {"type": "string"}, {"type": "integer"}


def _object_schema(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


def test_failed_refresh_keeps_the_old_index(apis: Apis, add: Add, shop: dict[str, Any]) -> None:
    api = add(shop)
    Path(api.source).write_text('{"openapi": ')
    with pytest.raises(SourceError, match="The old version was kept"):
        apis.indexer.refresh("shop")
    assert apis.library.apis() == [api]


def test_refresh_of_a_folder_reports_each_api(apis: Apis, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "a.yaml").write_text(minimal_description("A1"))
    (folder / "b.yaml").write_text(minimal_description("B1"))
    apis.indexer.add(str(folder), "both")
    (folder / "b.yaml").write_text(minimal_description("B1", "2").replace("/a", "/b"))
    (folder / "c.yaml").write_text(minimal_description("C1"))
    found = {each.name: each.overview.version for each in apis.indexer.refresh("both").apis}
    assert list(found) == ["both-a1", "both-b1", "both-c1"]
    assert found["both-b1"] == "2"


def test_local_file_resolves_references_to_neighbours(apis: Apis, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("get: {summary: From beside}")
    (tmp_path / "api.yaml").write_text("openapi: 3.0.0\ninfo: {title: L}\npaths: {/a: {$ref: a.yaml}}\n")
    (api,) = apis.indexer.add_found((tmp_path / "api.yaml").read_bytes(), str(tmp_path / "api.yaml"), "l").apis
    assert (api.operation_count, api.warnings) == (1, ())


def api_names(apis: Apis) -> list[str]:
    return [api.name for api in apis.library.apis()]


def test_same_file_by_another_path_is_the_same_api(apis: Apis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "one" / "svc.yaml").write_text(minimal_description("Svc"))
    (tmp_path / "link").symlink_to(tmp_path / "one")
    for folder, location in (("one", "svc.yaml"), ("two", "../one/svc.yaml"), ("", "link/svc.yaml")):
        monkeypatch.chdir(tmp_path / folder)
        (api,) = apis.indexer.add(location).apis
        assert (api.name, api.warnings) == ("svc", ())
    assert api_names(apis) == ["svc"]


def test_new_name_for_the_same_file_renames_its_api(apis: Apis, add: Add) -> None:
    add(minimal_description("Svc"))
    assert add(minimal_description("Svc"), "other").name == "other"
    assert add(minimal_description("Svc", "2")).name == "other"
    assert [(api.name, api.overview.version) for api in apis.library.apis()] == [("other", "2")]
    with pytest.raises(NotFound):
        apis.library.row("svc")


def test_renaming_a_folder_renames_its_apis(apis: Apis, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "f").mkdir(exist_ok=True)
        (tmp_path / "f" / f"{name}.yaml").write_text(minimal_description(name))
    apis.indexer.add(str(tmp_path / "f"), "shop")
    apis.indexer.add(str(tmp_path / "f"))
    assert api_names(apis) == ["shop-a", "shop-b"]
    apis.indexer.add(str(tmp_path / "f"), "store")
    assert api_names(apis) == ["store-a", "store-b"]


def test_new_package_in_a_folder_replaces_no_other(apis: Apis, tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()

    def write_package(package: str) -> None:
        service = "service S { rpc Get(M) returns (M); }\nmessage M {}\n"
        for name, text in (("s", service), ("t", "message T {}\n")):
            (folder / f"{package}_{name}.proto").write_text(f'syntax = "proto3";\npackage {package};\n{text}')

    write_package("zeta")
    apis.indexer.add(str(folder))
    write_package("alpha")
    apis.indexer.refresh("zeta")
    assert api_names(apis) == ["zeta", "zeta-alpha"]


def test_duplicate_apis_of_older_versions_stay_usable(apis: Apis, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "svc.yaml").write_text(minimal_description("Svc"))
    (api,) = apis.indexer.add(str(tmp_path / "one" / "svc.yaml")).apis
    first = apis.library.row("svc")
    units = [(unit, apis.library.store.body(unit.id)) for unit in apis.library.store.units(first.id, ("operation",))]
    twin = replace(first, name="svc-1", source_name="svc-1", source=f"{tmp_path}/two/../one/svc.yaml")
    (tmp_path / "two").mkdir()
    apis.library.store.replace(twin, [NewUnit(unit, body, UnitWords("a")) for unit, body in units])
    (tmp_path / "one" / "svc.yaml").write_text(minimal_description("Svc", "2"))
    assert [row.name for row in apis.library.group("svc")] == ["svc"]
    assert apis.indexer.add(api.source).apis[0].name == "svc"
    assert apis.indexer.add(api.source, "svc-1").apis[0].name == "svc-1"
    assert [(each.name, each.overview.version) for each in apis.library.apis()] == [("svc", "2"), ("svc-1", "2")]
    assert apis.indexer.refresh("svc-1").failures == ()
    assert apis.indexer.remove("svc-1") == ("svc-1",)
    assert api_names(apis) == ["svc"]
