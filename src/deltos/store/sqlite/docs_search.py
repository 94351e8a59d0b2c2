"""Search over documentation in SQLite: find candidates with the inputs of the ranking, and chunks to show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from deltos.store.documents import CandidateChunk, DocsTotals, ShownChunk
from deltos.store.sqlite.docs_index import visible_sources
from deltos.store.sqlite.fts_query import any_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.sqlite.database import SqliteDatabase

# CROSS JOIN fixes the join order. The word index is searched first and only once, because it is not indexed by source.
_SELECT_CANDIDATE = (
    "SELECT c.id, p.id, s.name, p.url, p.title, c.section, c.position, c.is_definition, c.traits,"
    " c.anchors, w.links_in,"
    " p.links_in, w.heading, w.trail, w.anchors, w.links, w.body, LENGTH(c.text)"
    " FROM docs_words w CROSS JOIN docs_chunk c ON c.id = w.rowid CROSS JOIN docs_page p ON p.id = c.page_id"
    " CROSS JOIN docs_source s ON s.id = p.source_id"
)
# Weights of heading, heading trail, anchors, links and body, used only to choose candidates for ranking.
_CHUNK_WEIGHTS = "bm25(2.0, 1.0, 1.0, 1.0, 1.0)"
_PAGE_WEIGHTS = "bm25(3.0, 2.0, 1.0)"


class SqlitePassages:
    """Implementation of `store.documents.Passages` in a library file. Only published pages are searched."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.database = database

    def snapshot(self) -> AbstractContextManager[object]:
        return self.database.snapshot()

    def totals(self, source_ids: Collection[str]) -> DocsTotals:
        condition, values = visible_sources(source_ids)
        row = (
            self.database.read()
            .execute(
                "SELECT COUNT(DISTINCT s.id), COUNT(DISTINCT p.id), COUNT(*) FROM docs_source s"
                " JOIN docs_page p ON p.source_id = s.id JOIN docs_chunk c ON c.page_id = p.id"
                f" WHERE {condition}",
                values,
            )
            .fetchone()
        )
        return DocsTotals(*row)

    def document_frequencies(self, words: Iterable[str]) -> dict[str, int]:
        connection = self.database.read()
        found = {}
        for word in words:
            row = connection.execute("SELECT doc FROM docs_vocabulary WHERE term = ?", (word,)).fetchone()
            if row is not None:
                found[word] = row[0]
        return found

    def chunk_count(self) -> int:
        row = self.database.read().execute("SELECT COUNT(*) FROM docs_words_docsize").fetchone()
        count: int = row[0]
        return count

    def candidates(self, words: Sequence[str], source_ids: Collection[str], *, limit: int) -> list[CandidateChunk]:
        if not words:
            return []
        condition, values = visible_sources(source_ids)
        rows = self.database.read().execute(
            f"{_SELECT_CANDIDATE} WHERE docs_words MATCH ? AND rank MATCH '{_CHUNK_WEIGHTS}' AND {condition}"
            " ORDER BY rank LIMIT ?",
            (any_of(words), *values, limit),
        )
        return [CandidateChunk(*row) for row in rows]

    def candidates_by_id(self, chunk_ids: Collection[int], source_ids: Collection[str]) -> list[CandidateChunk]:
        condition, values = visible_sources(source_ids)
        rows = self.database.read().execute(
            f"{_SELECT_CANDIDATE} WHERE w.rowid IN ({', '.join('?' * len(chunk_ids))}) AND {condition}",
            (*chunk_ids, *values),
        )
        return [CandidateChunk(*row) for row in rows]

    def visible_chunk_ids(self, chunk_ids: Collection[int], source_ids: Collection[str]) -> set[int]:
        condition, values = visible_sources(source_ids)
        rows = self.database.read().execute(
            # CROSS JOIN fixes the join order: json_each has no index, so it must be the outer loop.
            "SELECT c.id FROM json_each(?) given CROSS JOIN docs_chunk c ON c.id = given.value"
            " CROSS JOIN docs_page p ON p.id = c.page_id CROSS JOIN docs_source s ON s.id = p.source_id"
            f" WHERE {condition}",
            (json.dumps(list(chunk_ids)), *values),
        )
        return {chunk_id for (chunk_id,) in rows}

    def chunk_ids(self, source_ids: Collection[str]) -> list[int]:
        condition, values = visible_sources(source_ids)
        rows = self.database.read().execute(
            "SELECT c.id FROM docs_source s CROSS JOIN docs_page p ON p.source_id = s.id"
            f" CROSS JOIN docs_chunk c ON c.page_id = p.id WHERE {condition}",
            values,
        )
        return [chunk_id for (chunk_id,) in rows]

    def page_scores(self, words: Sequence[str], source_ids: Collection[str], *, limit: int) -> dict[int, float]:
        if not words:
            return {}
        condition, values = visible_sources(source_ids)
        rows = self.database.read().execute(
            "SELECT p.id, -rank FROM docs_page_words w CROSS JOIN docs_page p ON p.id = w.rowid"
            " CROSS JOIN docs_source s ON s.id = p.source_id"
            f" WHERE docs_page_words MATCH ? AND rank MATCH '{_PAGE_WEIGHTS}' AND {condition} ORDER BY rank LIMIT ?",
            (any_of(words), *values, limit),
        )
        return dict(rows.fetchall())

    def chunks(self, chunk_ids: Sequence[int]) -> list[ShownChunk]:
        rows = self.database.read().execute(
            "SELECT c.id, s.id, s.name, s.version, p.url, p.title, c.section, c.anchors, c.text FROM docs_chunk c"
            " JOIN docs_page p ON p.id = c.page_id JOIN docs_source s ON s.id = p.source_id"
            f" WHERE c.id IN ({', '.join('?' * len(chunk_ids))})",
            tuple(chunk_ids),
        )
        found = {
            chunk_id: ShownChunk(
                chunk_id, source_id, source, version, url, title, section, tuple(anchors.split()), text
            )
            for chunk_id, source_id, source, version, url, title, section, anchors, text in rows
        }
        return [found[chunk_id] for chunk_id in chunk_ids if chunk_id in found]
