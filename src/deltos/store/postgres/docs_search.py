"""Search over documentation in PostgreSQL: find candidates with the inputs of the ranking, and chunks to show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.documents import CandidateChunk, DocsTotals, ShownChunk
from deltos.store.postgres.docs_index import CHUNK_WORDS, PAGE_WORDS, VISIBLE
from deltos.store.postgres.posting_index import owners_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.postgres.database import PostgresDatabase

_JOINED_TABLES = (
    "docs_chunk c JOIN docs_page p ON p.source = c.source AND p.id = c.page_id"
    " JOIN docs_source s ON s.number = c.source WHERE c.source = ANY(%s) AND p.source = ANY(%s)"
)
_SELECT_CANDIDATE = (
    "SELECT c.id, p.id, s.name, p.url, p.title, c.section, c.position, c.is_definition, c.traits,"
    " c.anchors, c.links_in,"
    " p.links_in, c.heading_words, c.trail_words, c.anchor_words, c.link_words, c.body_words, length(c.text)"
    f" FROM {_JOINED_TABLES} AND c.id = ANY(%s) AND c.body_words IS NOT NULL AND {VISIBLE}"
)
# Weights of the heading and of all other fields, used only to choose candidates for ranking.
_CHUNK_WEIGHTS = (2.0, 1.0)
_PAGE_WEIGHTS = (3.0, 2.0, 1.0)
# Query for pages of unpublished crawls. Dropped pages need no condition, because publishing a crawl deletes them.
_HIDDEN_PAGES = (
    "SELECT h.id FROM docs_page h JOIN docs_source s ON s.number = h.source"
    " WHERE h.source = ANY(%s) AND h.added > s.generation"
)
_HIDDEN_CHUNKS = (
    "SELECT c.id FROM docs_chunk c JOIN docs_page h ON h.source = c.source AND h.id = c.page_id"
    " JOIN docs_source s ON s.number = h.source"
    " WHERE c.source = ANY(%s) AND h.source = ANY(%s) AND h.added > s.generation"
)


class PostgresPassages:
    """Implementation of `store.documents.Passages`. Only published pages are searched."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.database = database

    def snapshot(self) -> AbstractContextManager[object]:
        return self.database.snapshot()

    def totals(self, source_ids: Collection[str]) -> DocsTotals:
        numbers = self._source_numbers(source_ids)
        [row] = self.database.query(
            f"SELECT count(DISTINCT s.id), count(DISTINCT p.id), count(*) FROM {_JOINED_TABLES} AND {VISIBLE}",
            (numbers, numbers),
        )
        return DocsTotals(*row)

    def document_frequencies(self, words: Iterable[str]) -> dict[str, int]:
        return CHUNK_WORDS.frequencies(self.database, words)

    def chunk_count(self) -> int:
        return CHUNK_WORDS.count(self.database)

    def candidates(self, words: Sequence[str], source_ids: Collection[str], *, limit: int) -> list[CandidateChunk]:
        if not words:
            return []
        with self.database.snapshot():
            numbers = self._source_numbers(source_ids)
            best = CHUNK_WORDS.best_items(
                self.database,
                words,
                numbers,
                _CHUNK_WEIGHTS,
                limit=limit,
                where=f"g.item NOT IN ({_HIDDEN_CHUNKS})",
                values=(numbers, numbers),
            )
            found = {each.chunk_id: each for each in self._read_candidates([item for item, _ in best], numbers)}
        return [found[item] for item, _ in best if item in found]

    def candidates_by_id(self, chunk_ids: Collection[int], source_ids: Collection[str]) -> list[CandidateChunk]:
        with self.database.snapshot():
            return self._read_candidates(list(chunk_ids), self._source_numbers(source_ids))

    def visible_chunk_ids(self, chunk_ids: Collection[int], source_ids: Collection[str]) -> set[int]:
        with self.database.snapshot():
            numbers = set(self._source_numbers(source_ids))
            owners = [owner for owner in owners_of(chunk_ids) if owner in numbers]
            rows = self.database.query(
                f"SELECT c.id FROM {_JOINED_TABLES} AND c.id = ANY(%s) AND {VISIBLE}", (owners, owners, list(chunk_ids))
            )
        return {chunk_id for (chunk_id,) in rows}

    def chunk_ids(self, source_ids: Collection[str]) -> list[int]:
        with self.database.snapshot():
            numbers = self._source_numbers(source_ids)
            rows = self.database.query(f"SELECT c.id FROM {_JOINED_TABLES} AND {VISIBLE}", (numbers, numbers))
        return [chunk_id for (chunk_id,) in rows]

    def _read_candidates(self, chunk_ids: Sequence[int], numbers: Sequence[int]) -> list[CandidateChunk]:
        owners = [owner for owner in owners_of(chunk_ids) if owner in set(numbers)]
        rows = self.database.query(_SELECT_CANDIDATE, (owners, owners, list(chunk_ids)))
        return [CandidateChunk(*row) for row in rows]

    def page_scores(self, words: Sequence[str], source_ids: Collection[str], *, limit: int) -> dict[int, float]:
        if not words:
            return {}
        with self.database.snapshot():
            numbers = self._source_numbers(source_ids)
            best = PAGE_WORDS.best_items(
                self.database,
                words,
                numbers,
                _PAGE_WEIGHTS,
                limit=limit,
                where=f"g.item NOT IN ({_HIDDEN_PAGES})",
                values=(numbers,),
            )
        return dict(best)

    def chunks(self, chunk_ids: Sequence[int]) -> list[ShownChunk]:
        owners = owners_of(chunk_ids)
        rows = self.database.query(
            "SELECT c.id, s.id, s.name, s.version, p.url, p.title, c.section, c.anchors, c.text"
            f" FROM {_JOINED_TABLES} AND c.id = ANY(%s)",
            (owners, owners, list(chunk_ids)),
        )
        found = {
            chunk_id: ShownChunk(
                chunk_id, source_id, source, version, url, title, section, tuple(anchors.split()), text
            )
            for chunk_id, source_id, source, version, url, title, section, anchors, text in rows
        }
        return [found[chunk_id] for chunk_id in chunk_ids if chunk_id in found]

    def _source_numbers(self, source_ids: Collection[str]) -> list[int]:
        """Return the numbers that identify the given sources in pages and chunks."""
        rows = self.database.query(
            "SELECT number FROM docs_source WHERE id = ANY(%s) ORDER BY number", (list(source_ids),)
        )
        return [row[0] for row in rows]
