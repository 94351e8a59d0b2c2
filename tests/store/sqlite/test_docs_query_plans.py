"""Searches over 50,000 passages scan no table, and cost no more if they are restricted to some sources."""

from __future__ import annotations

import itertools
import random
import time
from typing import TYPE_CHECKING

import pytest

from deltos.store.documents import Batch, DocsChunkRow, DocsChunkWords, PageRow, PageWords, SourceRow
from deltos.store.sqlite.library import SqliteLibrary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PASSAGES = {"large": 16_500, "first": 12_000, "second": 12_000, "third": 8_000, "small": 1_500}
PASSAGES_PER_PAGE = 25
WORDS = [f"word{rank}" for rank in range(20_000)]
# Word frequencies follow Zipf's law.
CUMULATIVE = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(WORDS))))
SCOPES = (tuple(PASSAGES), ("large",), ("small",), ("large", "first", "second"))
MAX_SECONDS = 0.05
REPEATS = 20


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteLibrary]:
    """A library with 50,000 passages of five sources."""
    opened = SqliteLibrary(tmp_path_factory.mktemp("plans") / "library.db")
    words = random.Random(1)
    for name, count in PASSAGES.items():
        opened.sources.add_source(SourceRow(name, name, "website", f"https://{name}.example/"))
        opened.sources.begin_crawl(name, is_full=False, now=1.0)
        pages = []
        for number in range(count // PASSAGES_PER_PAGE):
            texts = (" ".join(words.choices(WORDS, cum_weights=CUMULATIVE, k=40)) for _ in range(PASSAGES_PER_PAGE))
            chunks = tuple(DocsChunkRow("Title > Section", ("section",), False, text) for text in texts)
            url = f"https://{name}.example/{number}"
            pages.append(PageRow(url, url, "Title", "", "", b"", chunks))
        assert opened.pages.write(name, 1, Batch(pages=tuple(pages)))
        for page in opened.pages.next_pages(name):
            stored = opened.pages.chunks_of(page.id)
            indexed = [DocsChunkWords(chunk.id, "section", "title", "", "", chunk.text, 0) for chunk in stored]
            text = " ".join(chunk.text for chunk in stored)
            opened.pages.write_words([PageWords(page.id, "title", "section", text, 0)], indexed)
        assert opened.pages.publish(name, 1, now=2.0)
    yield opened
    opened.close()


def search_queries(library: SqliteLibrary, scope: tuple[str, ...]) -> dict[str, Callable[[], object]]:
    """Return the queries of a search, each with new words or chunks at every call."""
    chosen, passages = random.Random(2), library.passages
    rare = WORDS[300:5_000]  # each of these words is in at most 2 % of the passages
    every = range(1, sum(PASSAGES.values()))
    return {
        "candidates": lambda: passages.candidates(chosen.sample(rare, 6), scope, limit=300),
        "page scores": lambda: passages.page_scores(chosen.sample(rare, 6), scope, limit=300),
        "visible": lambda: passages.visible_chunk_ids(chosen.sample(every, 1_000), scope),
        "similar": lambda: passages.candidates_by_id(chosen.sample(every, 60), scope),
        "shown": lambda: passages.chunks(chosen.sample(every, 100)),
        "chunk ids": lambda: passages.chunk_ids(scope),
    }


@pytest.mark.parametrize("scope", SCOPES)
def test_no_search_scans_a_table(library: SqliteLibrary, scope: tuple[str, ...]) -> None:
    connection = library.database.read()
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    for search in search_queries(library, scope).values():
        search()
    connection.set_trace_callback(None)
    own = [each for each in statements if each.startswith("SELECT") and "docs_" in each and "_config" not in each]
    assert len(own) >= len(search_queries(library, scope))
    for statement in own:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
        scans = [step for step in plan if step.startswith("SCAN")]
        assert all("VIRTUAL TABLE" in step for step in scans), (statement[:200], plan)
        assert not scans or plan[0].startswith("SCAN"), ("an index of words or ids is the outer loop", plan)


def test_restricted_searches_cost_no_more(library: SqliteLibrary) -> None:
    measured = {scope: percentiles(library, scope) for scope in SCOPES}
    unrestricted = measured[SCOPES[0]]
    for scope, named in measured.items():
        for name, seconds in named.items():
            if name != "chunk ids":  # used only if few sources are searched
                assert seconds <= MAX_SECONDS, (scope, name, seconds)
            assert seconds <= max(2 * unrestricted[name], 0.01), (scope, name, seconds, unrestricted[name])


def percentiles(library: SqliteLibrary, scope: tuple[str, ...]) -> dict[str, float]:
    """Return the 95th percentile of each query's CPU time in this thread."""
    found = {}
    for name, search in search_queries(library, scope).items():
        times = []
        for _ in range(REPEATS):
            started = time.thread_time()
            search()
            times.append(time.thread_time() - started)
        found[name] = sorted(times)[int(REPEATS * 0.95) - 1]
    return found
