"""Documentation in PostgreSQL: a query reads only the partitions of the searched sources."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from deltos.store.apis import ApiRow, NewUnit, UnitRow, UnitWords
from deltos.store.documents import Batch, DocsChunkRow, DocsChunkWords, PageRow, PageWords, SourceRow
from deltos.store.postgres.database import PostgresDatabase
from deltos.store.postgres.library import PostgresLibrary
from deltos.store.postgres.migrations import SCHEMA_STEPS
from deltos.store.postgres.posting_index import owner_of
from tests.postgres_server import empty_database

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PARTITION = re.compile(r"\bon (\w+?)_(\d+)\b")


class WatchedDatabase(PostgresDatabase):
    """Database that records the partitions in the query plan of each query."""

    touched: set[tuple[str, str]]

    def query(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        for (line,) in super().query(f"EXPLAIN {sql}", values):
            self.touched.update(_PARTITION.findall(line))
        return super().query(sql, values)

    def partitions(self, *tables: str) -> dict[str, int]:
        """Return the number of partitions of each table that were read since the last call."""
        counts = {table: sum(found == table for found, _ in self.touched) for table in tables}
        self.touched = set()
        return counts


@pytest.fixture
def database() -> Iterator[WatchedDatabase]:
    with closing(WatchedDatabase(empty_database(), migrations=SCHEMA_STEPS)) as opened:
        opened.touched = set()
        yield opened


@pytest.fixture
def library(database: WatchedDatabase) -> PostgresLibrary:
    return PostgresLibrary(database)


def add_source(library: PostgresLibrary, source_id: str, *texts: str) -> list[int]:
    """Publish a source with one page per text and return the ids of its chunks."""
    library.sources.add_source(SourceRow(source_id, source_id, "website", f"https://{source_id}.example/"))
    library.sources.begin_crawl(source_id, is_full=False, now=1.0)
    pages = tuple(
        PageRow(f"/{n}", f"/{n}", text, "", "", b"", (DocsChunkRow(text, (), False, text),))
        for n, text in enumerate(texts)
    )
    assert library.pages.write(source_id, 1, Batch(pages))
    ids = []
    for page in library.pages.next_pages(source_id):
        [chunk] = library.pages.chunks_of(page.id)
        words = DocsChunkWords(chunk.id, "", "", "", "", chunk.text, 0)
        library.pages.write_words([PageWords(page.id, page.title, "", "", 0)], [words])
        ids.append(chunk.id)
    assert library.pages.publish(source_id, 1, now=2.0)
    return ids


def test_a_query_on_one_source_reads_only_its_partition(library: PostgresLibrary, database: WatchedDatabase) -> None:
    for number in range(6):
        add_source(library, f"s{number}", f"quokka {number}")
    database.partitions()
    [found] = library.passages.candidates(["quokka"], ["s3"], limit=9)
    assert found.title == "quokka 3"
    tables = ("docs_chunk_posting", "docs_chunk", "docs_page")
    assert database.partitions(*tables) == dict.fromkeys(tables, 1)
    library.passages.page_scores(["quokka"], ["s3"], limit=9)
    assert database.partitions("docs_page_posting", "docs_page") == {"docs_page_posting": 1, "docs_page": 1}
    library.passages.chunks([found.chunk_id])
    assert database.partitions("docs_chunk", "docs_page") == {"docs_chunk": 1, "docs_page": 1}
    library.pages.chunks_of(found.page_id)
    assert database.partitions("docs_chunk") == {"docs_chunk": 1}


def test_a_query_on_one_api_reads_only_its_partition(library: PostgresLibrary, database: WatchedDatabase) -> None:
    for name in ("one", "two", "three", "four"):
        row = ApiRow(name, "s", f"/{name}", name, b"", 1, 0, 0, b"[]", 1.0)
        unit = NewUnit(UnitRow("operation", "GET /a", "#/a"), b"body", UnitWords(names="quokka"))
        library.apis.replace(row, [unit])
    api = library.apis.api("three")
    assert api is not None
    database.partitions()
    [found] = library.apis.search(("quokka",), (1.0,) * 5, api_id=api.id, kinds=("operation",), limit=9)
    assert found.api_name == "three"
    assert database.partitions("api_unit_posting", "api_unit") == {"api_unit_posting": 1, "api_unit": 1}
    library.apis.body(found.row.id)
    library.apis.unit(api.id, "GET /a")
    assert database.partitions("api_unit") == {"api_unit": 1}


def test_an_id_contains_its_source_and_invalid_ids_are_not_found(library: PostgresLibrary) -> None:
    [first] = add_source(library, "a", "quokka")
    [second] = add_source(library, "b", "wombat")
    assert owner_of(second) == owner_of(first) + 1
    assert library.passages.chunks([1, -5, first + 1_000_000, 2**62]) == []
    assert [chunk.text for chunk in library.passages.chunks([second, first])] == ["wombat", "quokka"]


def test_word_counts_cover_all_sources_and_shrink_with_removed_ones(library: PostgresLibrary) -> None:
    add_source(library, "a", "quokka wombat", "quokka")
    add_source(library, "b", "quokka")
    assert library.passages.document_frequencies(["quokka", "wombat", "emu"]) == {"quokka": 3, "wombat": 1}
    library.pages.remove_source("a")
    assert library.passages.document_frequencies(["quokka", "wombat"]) == {"quokka": 1}
    assert library.passages.chunk_count() == 1


def test_words_too_long_for_an_index_are_found(library: PostgresLibrary) -> None:
    word = "x" * 20_000
    add_source(library, "a", f"quokka {word}y", f"wombat {word}z")
    [found] = library.passages.candidates([f"{word}z"], ["a"], limit=9)
    assert found.title == f"wombat {word}z"
    assert library.passages.document_frequencies([f"{word}y"]) == {f"{word}y": 1}
