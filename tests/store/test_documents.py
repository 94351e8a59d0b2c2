"""Stored documentation: a crawl becomes visible atomically, together with its words, links and vectors."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.domains.docs.missing_terms import absent_names
from deltos.store.documents import (
    Batch,
    CrawlAddress,
    DocsChunkRow,
    DocsChunkWords,
    PageRow,
    PageWords,
    SkippedAddresses,
    SourceRow,
)

if TYPE_CHECKING:
    from deltos.store.library import LibraryStore
    from tests.store.engines import Engine

SOURCE = SourceRow("s1", "Site", "website", "https://example.org/", include=("a/**",), max_pages=7)


def make_page(name: str, text: str) -> PageRow:
    url = f"https://example.org/{name}"
    return PageRow(url, url, name, "etag", "", text.encode(), (DocsChunkRow(name, ("top",), False, text),))


def write_crawl(library: LibraryStore, *pages: PageRow, publish: bool = True) -> None:
    """Write pages in one crawl and optionally publish it."""
    if library.sources.source(SOURCE.id) is None:
        library.sources.add_source(SOURCE)
    library.sources.begin_crawl(SOURCE.id, is_full=False, now=1.0)
    started = library.sources.crawl(SOURCE.id)
    assert started is not None
    assert library.pages.write(SOURCE.id, started.generation, Batch(pages))
    library.pages.drop_unseen_pages(SOURCE.id, started.generation)
    for each in library.pages.next_pages(SOURCE.id):
        if not each.is_indexed:
            chunks = library.pages.chunks_of(each.id)
            words = [DocsChunkWords(one.id, one.section, "", "top", "", one.text, 0) for one in chunks]
            library.pages.write_words([PageWords(each.id, each.title, "", "", 0)], words)
    if publish:
        assert library.pages.publish(SOURCE.id, started.generation, now=2.0)


def found_titles(library: LibraryStore, *words: str) -> list[str]:
    return sorted(each.title for each in library.passages.candidates(words, [SOURCE.id], limit=9))


def test_sources_are_identified_by_id_and_may_share_a_name(library: LibraryStore) -> None:
    newer = replace(SOURCE, id="s2", version="2")
    library.sources.add_source(SOURCE)
    library.sources.add_source(newer)
    assert (library.sources.source("s1"), library.sources.source("s2")) == (SOURCE, newer)
    assert library.sources.source("site") is None
    assert sorted(library.sources.sources(), key=lambda each: each.id) == [SOURCE, newer]


def test_readers_see_a_crawl_only_when_it_is_published(library: LibraryStore) -> None:
    write_crawl(library, make_page("one", "quokka"), publish=False)
    assert found_titles(library, "quokka") == []
    assert library.pages.publish(SOURCE.id, 1, now=2.0)
    assert found_titles(library, "quokka") == ["one"]
    assert library.passages.totals([SOURCE.id]).pages == 1


def test_a_page_that_a_crawl_did_not_find_is_deleted_with_its_words(library: LibraryStore) -> None:
    write_crawl(library, make_page("one", "quokka"), make_page("two", "wombat"))
    write_crawl(library, make_page("two", "wombat"))
    assert found_titles(library, "quokka", "wombat") == ["two"]
    assert library.passages.document_frequencies(["quokka", "wombat"]) == {"wombat": 1}


def test_a_discarded_crawl_does_not_change_what_readers_see(library: LibraryStore) -> None:
    write_crawl(library, make_page("one", "quokka"))
    write_crawl(library, make_page("two", "wombat"), publish=False)
    library.pages.discard(SOURCE.id)
    assert found_titles(library, "quokka", "wombat") == ["one"]


def test_a_closed_crawl_rejects_pages(library: LibraryStore) -> None:
    write_crawl(library, make_page("one", "quokka"), publish=False)
    assert library.sources.end_crawl(SOURCE.id, "cancelled", "asked to", 3.0)
    assert not library.sources.end_crawl(SOURCE.id, "failed", "", 4.0)
    assert not library.pages.write(SOURCE.id, 1, Batch((make_page("two", "wombat"),)))
    assert not library.pages.publish(SOURCE.id, 1, now=5.0)


def test_failed_urls_are_queued_by_the_next_crawl(library: LibraryStore) -> None:
    library.sources.add_source(SOURCE)
    library.sources.begin_crawl(SOURCE.id, is_full=False, now=1.0)
    library.sources.seed_crawl(SOURCE.id, [CrawlAddress("a"), CrawlAddress("b", state="failed", reason="timed out")])
    assert library.sources.address_counts(SOURCE.id) == {"queued": 1, "failed": 1}
    assert library.sources.first_skip_reason(SOURCE.id) == "timed out"
    library.sources.begin_crawl(SOURCE.id, is_full=False, now=2.0)
    assert [address.url for address in library.sources.queued_addresses(SOURCE.id)] == ["b"]


def test_a_url_without_a_page_keeps_its_validators_and_reason(library: LibraryStore) -> None:
    library.sources.add_source(SOURCE)
    library.sources.begin_crawl(SOURCE.id, is_full=False, now=1.0)
    known = [CrawlAddress("a", 1, "missing", 1, "says so", '"1"'), CrawlAddress("b", 1, "skipped", 0, "empty", "", "m")]
    library.sources.seed_crawl(SOURCE.id, [*known, CrawlAddress("c", 1, "missing", 1, "HTTP 404")])
    assert library.sources.failed_addresses(SOURCE.id)[0] == known[0]
    library.sources.begin_crawl(SOURCE.id, is_full=False, now=2.0)
    assert library.sources.queued_addresses(SOURCE.id) == [
        CrawlAddress("a", 1, reason="says so", etag='"1"'),
        CrawlAddress("b", 1, reason="empty", last_modified="m"),
        CrawlAddress("c", 1, reason="missing"),
    ]
    assert library.pages.write(SOURCE.id, 1, Batch(crawled=(CrawlAddress("a", 1, "done"),)))
    library.sources.begin_crawl(SOURCE.id, is_full=False, now=3.0)
    assert [address.url for address in library.sources.queued_addresses(SOURCE.id)] == ["b", "c"]


def test_skipped_urls_are_counted_by_reason(library: LibraryStore) -> None:
    library.sources.add_source(SOURCE)
    library.sources.begin_crawl(SOURCE.id, is_full=False, now=1.0)
    skipped = [CrawlAddress(url, state="skipped", reason="a signature") for url in ("b.asc", "a.asc")]
    other = CrawlAddress("c", state="skipped", reason="not text")
    library.sources.seed_crawl(SOURCE.id, [*skipped, other, CrawlAddress("d", state="failed", reason="a signature")])
    assert library.sources.skip_reasons(SOURCE.id, 5) == [
        SkippedAddresses("a signature", 2, "a.asc"),
        SkippedAddresses("not text", 1, "c"),
    ]
    assert len(library.sources.skip_reasons(SOURCE.id, 1)) == 1


def test_only_one_process_locks_a_source(engine: Engine, library: LibraryStore) -> None:
    with (
        closing(engine.library()) as other,
        library.sources.try_lock("s1") as lock,
        other.sources.try_lock("s1") as second,
        other.sources.try_lock("s2") as third,
    ):
        assert (lock, second, third) == (True, False, True)


def test_query_words_are_never_parsed_as_query_syntax(library: LibraryStore) -> None:
    write_crawl(library, make_page("one", "near and quokka"))
    assert found_titles(library, '"', "NEAR", "*", "quokka") == ["one"]


def test_a_name_that_occurs_nowhere_literally_is_reported_as_absent(library: LibraryStore) -> None:
    write_crawl(library, make_page("one", "spawn_task spawn task spawntask"))

    def find_absent_names(question: str) -> tuple[str, ...]:
        return absent_names(question, (), library.passages, [SOURCE.id])

    assert find_absent_names("what are spawn_task and Spawn_Task") == ()
    assert find_absent_names("spawnTask and spawn_tasks") == ("spawn_tasks",)
    assert find_absent_names("spawn_system_task") == ("spawn_system_task",)


def test_removing_a_source_removes_all_its_data(library: LibraryStore) -> None:
    write_crawl(library, make_page("one", "quokka"))
    assert library.pages.remove_source(SOURCE.id) == 1
    assert library.sources.sources() == []
    assert library.passages.chunk_count() == 0


def test_vectors_are_dropped_with_their_chunks(library: LibraryStore) -> None:
    write_crawl(library, make_page("one", "quokka"), make_page("two", "wombat"))
    first, second = library.vectors.unembedded("model", after=0, limit=9)
    library.vectors.write("model", [(first.key, b"1"), (second.key, b"2"), (999, b"3")])
    assert [each.data for each in library.vectors.since("model", 0)] == [b"1", b"2"]
    assert library.vectors.unembedded("model", after=0, limit=9) == []
    assert len(library.vectors.unembedded("another", after=first.key, limit=9)) == 1
    assert len(library.vectors.unembedded("another", after=0, limit=9)) == 2
    write_crawl(library, make_page("two", "wombat"))
    assert library.vectors.count("model") == len(library.vectors.numbers("model")) == 0


def test_unreadable_content_is_recorded_by_digest(library: LibraryStore) -> None:
    library.unreadable_content.record(b"digest", "took too long")
    assert library.unreadable_content.reason(b"digest") == "took too long"
    assert library.unreadable_content.reason(b"other") == ""
