"""Moving data into a database and back changes nothing."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from deltos.cli.main import main
from deltos.model import Clean
from deltos.move_stores import MovedCounts, move
from deltos.open_stores import open_library, open_observations, open_tokens, open_workspaces
from deltos.store.apis import ApiRow, NewUnit, UnitRow, UnitWords
from deltos.store.documents import Batch, CrawlAddress, DocsChunkRow, DocsChunkWords, PageRow, PageWords, SourceRow
from deltos.store.observations import Anchor, NewObservation
from deltos.store.tokens import StoredToken
from tests.postgres_server import empty_database

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from deltos.store.library import LibraryStore
    from deltos.store.observations import Observations

MODEL = "model"


def fill_memory(observations: Observations) -> None:
    with observations.writing() as writer:
        for number in range(3):
            project = writer.upsert_project(f"p{number}", root=f"/src/{number}", now=number)
            session = writer.upsert_session(project, "s" if number else None, agent="a", now=number)
            for text in ("the quokka sleeps", "the wombat digs", "gone"):
                new = NewObservation(Clean(f"{text}{number}"), Clean(text), Clean("finding"), Clean("w"), 5, Clean("n"))
                place = writer.insert(project, session, new._replace(anchors=(Anchor("a.py", "f", b"1"),)))
                if text == "gone":
                    writer.update(place, deleted_at=9)
        writer.update(place, pinned_at=9)
        writer.record_exported(b"target", 3)
        writer.record_distilled([b"event"])
    first = observations.vectors.unembedded(MODEL, after=0, limit=1)
    observations.vectors.write(MODEL, [(each.key, b"vector") for each in first])


def fill_library(library: LibraryStore) -> None:
    library.sources.add_source(SourceRow("s1", "Site", "website", "https://example.org/", include=("a/**",)))
    library.sources.begin_crawl("s1", is_full=False, now=1.0)
    library.sources.seed_crawl(
        "s1", [CrawlAddress("/b", state="failed", reason="timed out", etag="e", last_modified="m")]
    )
    chunks = (DocsChunkRow("One", ("top",), True, "the quokka"), DocsChunkRow("Two", (), False, "the wombat"))
    page = PageRow("/a", "/a?x", "A", "etag", "", b"hash", chunks, (("/b", "see b"),))
    assert library.pages.write("s1", 1, Batch((page,)))
    [stored] = library.pages.next_pages("s1")
    words = [DocsChunkWords(each.id, "h", "t", "a", "l", each.text, 2) for each in library.pages.chunks_of(stored.id)]
    library.pages.write_words([PageWords(stored.id, "a", "one two", "quokka", 4)], words)
    assert library.pages.publish("s1", 1, now=2.0)
    [first, _] = library.vectors.unembedded(MODEL, after=0, limit=9)
    library.vectors.write(MODEL, [(first.key, b"vector")])
    api = ApiRow("Shop", "shop", "/shop.yaml", "shop.yaml", b"{}", 1, 0, 0, b"[]", 1.0)
    unit = NewUnit(
        UnitRow("operation", "GET /a", "#/a", deprecated=True), b"body", UnitWords("quokka", "t", "g", "d", "e")
    )
    library.apis.replace(api, [unit, NewUnit(UnitRow("fragment", "x", "#/x"), b"x", None)])
    [waiting] = library.api_vectors.unembedded(MODEL, after=0, limit=9)
    library.api_vectors.write(MODEL, [(waiting.key, b"unit")])


def memory_contents(observations: Observations) -> list[object]:
    """Return all data that a memory store can be queried for."""
    keys = [project.key for project in observations.projects()]
    places = [row.place for row in observations.all()]
    vectors = [(each.key, each.data) for each in observations.vectors.since(MODEL, 0)]
    return [
        observations.projects(), observations.sessions(), list(observations.all()), observations.counts(),
        observations.anchors(places), [observations.change_number(place) for place in places],
        observations.row_numbers_with(["quokkas"], at_most=9), observations.pinned_observations(keys, limit=9), vectors,
        observations.last_exported_change(b"target"), observations.distilled_keys([b"event", b"x"]),
    ]  # fmt: skip


def library_contents(library: LibraryStore) -> list[object]:
    """Return all data that a library can be queried for, without ids."""
    passages, [api] = library.passages, library.apis.apis()
    found = passages.candidates(["quokka", "wombat"], ["s1"], limit=9)
    units = library.apis.search(("quokka",), (1.0,) * 5, api_id=None, kinds=(), limit=9)
    return [
        library.sources.sources(), library.sources.crawl("s1"), library.sources.failed_addresses("s1"),
        library.pages.known_pages("s1"), [link[1:] for link in library.pages.next_links("s1")],
        [(each.text_length, each.anchors, each.is_definition, each.links_in, each.page_links_in) for each in found],
        [(each.heading_words, each.trail_words, each.anchor_words, each.link_words, each.body_words) for each in found],
        [round(score, 9) for score in passages.page_scores(["quokka"], ["s1"], limit=9).values()],
        passages.document_frequencies(["quokka", "h"]), passages.totals(["s1"]),
        [each.data for each in library.vectors.since(MODEL, 0)],
        [(each.row._replace(id=0, deprecated=bool(each.row.deprecated)), each.words, round(each.score, 9)) for each in units],
        library.apis.bodies(api.id), library.apis.target(api.id, "#/x"),
        [each.data for each in library.api_vectors.since(MODEL, 0)],
    ]  # fmt: skip


def test_moving_into_a_database_and_back_loses_nothing(tmp_path: Path) -> None:
    url, first, second = empty_database(), tmp_path / "first", tmp_path / "second"
    with closing(open_observations(first)) as memory, closing(open_library(first)) as library:
        fill_memory(memory)
        fill_library(library)
        open_tokens(first).add(StoredToken("a1", "ci", b"hash", "read", (), created_at=10, revoked_at=20))
        open_workspaces(first).add("Shop", ["/src/web", "/src/api"])
        before = [memory_contents(memory), library_contents(library)]
    assert move(first, url, back=False, say=lambda _: None) == MovedCounts(9, 1, 1, 1, 1)
    assert [memory_contents(open_observations(first, url)), library_contents(open_library(first, url))] == before
    assert move(second, url, back=True, say=lambda _: None) == MovedCounts(9, 1, 1, 1, 1)
    with closing(open_observations(second)) as memory, closing(open_library(second)) as library:
        assert [memory_contents(memory), library_contents(library)] == before
    assert open_tokens(second).all() == open_tokens(first).all()
    assert open_workspaces(second).all() == open_workspaces(first).all()
    with closing(open_observations(first, url)) as moved, moved.writing() as writer:
        project = writer.upsert_project("p1", root="", now=9)
        session = writer.upsert_session(project, "new", agent="", now=9)
        writer.insert(project, session, NewObservation(Clean("after"), Clean("after"), Clean(""), Clean(""), 9))


def test_memories_are_not_merged_but_other_data_is_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = empty_database()
    with closing(open_observations(tmp_path)) as memory:
        fill_memory(memory)
    assert move(tmp_path, url, back=False, say=lambda _: None).observations == 9
    with closing(open_library(tmp_path)) as library:
        fill_library(library)
    open_tokens(tmp_path).add(StoredToken("a1", "ci", b"hash", "read", (), created_at=10))
    open_workspaces(tmp_path).add("Shop", ["/src/web"])
    with closing(open_observations(tmp_path, url)) as there:
        before = memory_contents(there)
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path))
    monkeypatch.setenv("DELTOS_DATABASE", url)
    assert main(["db", "move"]) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith("1 sources, 1 apis, 1 tokens, 1 workspaces copied\n")
    assert "Memory was not copied" in shown.err
    assert "deltos memory export" in shown.err
    with closing(open_observations(tmp_path, url)) as there:
        assert memory_contents(there) == before
    assert move(tmp_path, url, back=False, say=lambda _: None) == MovedCounts(None, 0, 0, 0, 0)


def test_moving_adds_missing_folders_to_a_workspace_with_the_same_name(tmp_path: Path) -> None:
    url = empty_database()
    open_workspaces(tmp_path).add("Shop", ["/src/web", "/src/api"])
    there = open_workspaces(tmp_path, url)
    there.add("shop", ["/srv/web", "/src/api"])
    assert move(tmp_path, url, back=False, say=lambda _: None).workspaces == 1
    assert [(each.name, each.roots) for each in there.all()] == [("shop", ("/srv/web", "/src/api", "/src/web"))]
    assert move(tmp_path, url, back=False, say=lambda _: None).workspaces == 0
