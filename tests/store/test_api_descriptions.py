"""Stored API descriptions: replaced atomically, searched by words, and removed completely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.store.apis import ApiRow, NewUnit, UnitRow, UnitWords

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.store.apis import ApiDescriptions
    from deltos.store.library import LibraryStore

WEIGHTS = (1.0, 1.0, 1.0, 1.0, 1.0)


def make_api(name: str, source: str = "s") -> ApiRow:
    return ApiRow(name, source, f"/{name}.yaml", f"{name}.yaml", b"{}", 1, 0, 0, b"[]", 1.0)


def make_unit(key: str, words: str = "", kind: str = "operation", pointer: str = "#/p") -> NewUnit:
    return NewUnit(
        UnitRow(kind, key, pointer, key, "g", "GET", "/a"), key.encode(), UnitWords(names=words) if words else None
    )


@pytest.fixture
def store(library: LibraryStore) -> ApiDescriptions:
    return library.apis


def test_an_api_is_read_back_as_it_was_written(store: ApiDescriptions) -> None:
    store.replace(make_api("one"), [make_unit("GET /a", "alpha"), make_unit("x", kind="fragment", pointer="#/x")])
    row = store.api("ONE")
    assert row is not None
    (found,) = store.units(row.id, ("operation",))
    assert (found.key, found.method, found.tags, found.deprecated) == ("GET /a", "GET", b"[]", 0)
    assert store.body(found.id) == b"GET /a"
    assert store.target(row.id, "#/x") == b"x"
    assert store.target(row.id, "#/p") is None
    assert store.unit(row.id, "x") is None
    assert store.count_searchable() == store.count_searchable(row.id) == 1


def test_replacing_an_api_removes_its_old_units(store: ApiDescriptions) -> None:
    store.replace(make_api("one"), [make_unit("GET /a", "alpha")])
    store.replace(make_api("one"), [make_unit("GET /b", "beta")])
    assert [row.name for row in store.apis()] == ["one"]
    assert store.search(("alpha",), WEIGHTS, api_id=None, kinds=(), limit=9) == []
    (found,) = store.search(("beta",), WEIGHTS, api_id=None, kinds=(), limit=9)
    assert (found.row.key, found.api_name, found.words.names) == ("GET /b", "one", "beta")


def test_search_is_filtered_by_api_and_kind(store: ApiDescriptions) -> None:
    store.replace(make_api("one"), [make_unit("GET /a", "alpha"), make_unit("schema A", "alpha", "schema")])
    store.replace(make_api("two"), [make_unit("GET /c", "alphas")])
    one = store.api("one")
    assert one is not None
    assert len(store.search(("alpha",), WEIGHTS, api_id=None, kinds=(), limit=9)) == 3
    assert [hit.row.key for hit in store.search(("alpha",), WEIGHTS, api_id=one.id, kinds=("schema",), limit=9)] == [
        "schema A"
    ]
    assert store.document_frequencies(["alpha", "none"]) == {"alpha": 3}


def test_unit_ids_and_overview_ids_match_the_stored_units(store: ApiDescriptions) -> None:
    store.replace(
        make_api("one"), [make_unit("overview", "alpha", "overview", "#"), make_unit("tag", "alpha", "tag", "#")]
    )
    store.replace(make_api("two"), [make_unit("overview", "alpha", "overview", "#"), make_unit("GET /c", "alpha")])
    one, two = store.api("one"), store.api("two")
    assert one is not None
    assert two is not None
    overviews = store.overview_ids()
    assert set(overviews) == {"one", "two"}
    assert [each.id for each in store.units(two.id, ("overview",))] == [overviews["two"]]
    assert sorted(store.unit_ids(one.id)) == [each.id for each in store.units(one.id, ("overview", "tag"))]


def test_a_failed_replacement_keeps_the_old_api(store: ApiDescriptions) -> None:
    def failing_units() -> Iterator[NewUnit]:
        yield make_unit("GET /b", "beta")
        raise RuntimeError

    store.replace(make_api("one"), [make_unit("GET /a", "alpha")])
    with pytest.raises(RuntimeError):
        store.replace(make_api("one"), failing_units())
    assert len(store.search(("alpha",), WEIGHTS, api_id=None, kinds=(), limit=9)) == 1


def test_remove_returns_whether_the_api_existed(store: ApiDescriptions) -> None:
    store.replace(make_api("one"), [make_unit("GET /a", "alpha")])
    assert store.remove("one")
    assert not store.remove("one")
    assert store.body(1) == b""


def test_apis_are_listed_by_source(store: ApiDescriptions) -> None:
    store.replace(make_api("b", "Both"), [])
    store.replace(make_api("a", "both"), [])
    store.replace(make_api("c", "other"), [])
    assert [row.name for row in store.apis_of_source("both")] == ["a", "b"]
