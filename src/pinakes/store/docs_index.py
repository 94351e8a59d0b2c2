"""Pages and chunks of documentation, and the word index over them. Which crawl they come from is docs' concern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinakes.store.docs import DOCS_001, Place, close_crawl, crawl_is_open, insert_places, settle_places
from pinakes.store.sqlite import Database, Migration

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence

DOCS_002 = Migration(
    "docs-002-index",
    """
    CREATE TABLE docs_page (
        id INTEGER PRIMARY KEY,
        source_id TEXT NOT NULL REFERENCES docs_source (id) ON DELETE CASCADE,
        url TEXT NOT NULL,
        place TEXT NOT NULL,
        title TEXT NOT NULL,
        etag TEXT NOT NULL,
        last_modified TEXT NOT NULL,
        hash BLOB NOT NULL,
        added INTEGER NOT NULL,
        dropped INTEGER
    );
    CREATE INDEX docs_page_by_place ON docs_page (source_id, place);
    CREATE TABLE docs_chunk (
        id INTEGER PRIMARY KEY,
        page_id INTEGER NOT NULL,
        position INTEGER NOT NULL,
        section TEXT NOT NULL,
        anchors TEXT NOT NULL,
        text TEXT NOT NULL
    );
    CREATE INDEX docs_chunk_by_page ON docs_chunk (page_id);
    CREATE VIRTUAL TABLE docs_words USING fts5 (heading, trail, anchors, body, tokenize = 'ascii');
    """,
)
MIGRATIONS = (DOCS_001, DOCS_002)

# A page is seen by readers from the generation that added it until the one that dropped it.
_VISIBLE = "p.added <= s.generation AND (p.dropped IS NULL OR p.dropped > s.generation)"


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk and its words, as written."""

    section: str
    anchors: tuple[str, ...]
    text: str
    heading_words: str
    trail_words: str
    anchor_words: str
    body_words: str


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page to be written. `place` is the address it was asked at, `url` the one it is cited by."""

    url: str
    place: str
    title: str
    etag: str
    last_modified: str
    hash: bytes
    chunks: tuple[ChunkRow, ...]


@dataclass(frozen=True, slots=True)
class KnownPage:
    """What is needed to ask whether a page changed."""

    etag: str
    last_modified: str
    hash: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """What a stretch of a crawl found out: written at once."""

    pages: tuple[PageRow, ...] = ()
    settled: tuple[Place, ...] = ()
    discovered: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk that matches, with all that a result shows."""

    id: int
    source: str
    version: str
    url: str
    title: str
    section: str
    anchors: tuple[str, ...]
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Totals:
    """How much can be searched."""

    sources: int
    pages: int
    chunks: int


class DocsIndex:
    """Pages and chunks of all sources."""

    def __init__(self, database: Database) -> None:
        self.database = database

    # ------------------------------------------------------------------ the write path

    def known_page(self, source_id: str, place: str) -> KnownPage | None:
        """The page that readers see for an address now, or that the open crawl has already written."""
        row = (
            self.database.read()
            .execute(
                "SELECT etag, last_modified, hash FROM docs_page WHERE source_id = ? AND place = ? AND dropped IS NULL"
                " ORDER BY added DESC LIMIT 1",
                (source_id, place),
            )
            .fetchone()
        )
        return KnownPage(*row) if row else None

    def live_places(self, source_id: str) -> list[str]:
        """The addresses of all pages that readers see now."""
        rows = self.database.read().execute(
            f"SELECT DISTINCT p.place FROM docs_page p JOIN docs_source s ON s.id = p.source_id WHERE s.id = ? AND {_VISIBLE}",
            (source_id,),
        )
        return [row[0] for row in rows]

    def write(self, source_id: str, generation: int, batch: Batch) -> bool:
        """Write a stretch of a crawl; False, and nothing written, when that crawl is no longer wanted."""
        with self.database.write() as connection:
            if not crawl_is_open(connection, source_id, generation):
                return False
            for place in dict.fromkeys(page.place for page in batch.pages):
                _drop(connection, source_id, place, generation)
            for page in batch.pages:
                _insert_page(connection, source_id, generation, page)
            insert_places(connection, source_id, batch.discovered)
            settle_places(connection, source_id, batch.settled)
            return True

    def publish(self, source_id: str, generation: int, *, now: float) -> bool:
        """Show the new generation to readers, all of it at once; pages that the crawl did not meet again are gone."""
        with self.database.write() as connection:
            if not crawl_is_open(connection, source_id, generation):
                return False
            connection.execute(
                "UPDATE docs_page SET dropped = ?2 WHERE source_id = ?1 AND dropped IS NULL AND added < ?2"
                " AND place NOT IN (SELECT url FROM docs_place WHERE source_id = ?1 AND state IN ('unchanged', 'failed'))",
                (source_id, generation),
            )
            _delete_pages(connection, "source_id = ? AND dropped <= ?", (source_id, generation))
            connection.execute(
                "UPDATE docs_source SET generation = ?, crawled_at = ? WHERE id = ?", (generation, now, source_id)
            )
            return close_crawl(connection, source_id, "done", "", now)

    def discard(self, source_id: str) -> None:
        """Remove what an abandoned crawl wrote; readers keep what they see."""
        with self.database.write() as connection:
            (generation,) = connection.execute("SELECT generation FROM docs_source WHERE id = ?", (source_id,)).fetchone()
            _delete_pages(connection, "source_id = ? AND added > ?", (source_id, generation))
            connection.execute("UPDATE docs_page SET dropped = NULL WHERE source_id = ?", (source_id,))

    def remove_source(self, source_id: str) -> int:
        """Remove a source with all it has; returns how many pages that were."""
        with self.database.write() as connection:
            pages = _delete_pages(connection, "source_id = ?", (source_id,))
            connection.execute("DELETE FROM docs_source WHERE id = ?", (source_id,))
            return pages

    # ------------------------------------------------------------------ the read path

    def totals(self, source_ids: Collection[str] | None = None) -> Totals:
        """How many pages and chunks readers can see, in all sources or in some."""
        condition, values = _among(source_ids)
        row = (
            self.database.read()
            .execute(
                "SELECT COUNT(DISTINCT s.id), COUNT(DISTINCT p.id), COUNT(*) FROM docs_source s JOIN docs_page p ON p.source_id = s.id"
                f" JOIN docs_chunk c ON c.page_id = p.id WHERE {_VISIBLE}{condition}",
                values,
            )
            .fetchone()
        )
        return Totals(*row)

    def match(self, expression: str, *, limit: int, source_ids: Collection[str] | None = None) -> list[FoundChunk]:
        """Chunks that match an FTS5 expression, best first."""
        condition, values = _among(source_ids)
        with self.database.snapshot() as connection:
            rows = connection.execute(
                "SELECT c.id, s.name, s.version, p.url, p.title, c.section, c.anchors, c.text, w.score FROM"
                " (SELECT rowid AS id, -bm25(docs_words, 4.0, 3.0, 2.0, 1.0) AS score FROM docs_words"
                "  WHERE docs_words MATCH ? ORDER BY score DESC LIMIT ?) w"
                " JOIN docs_chunk c ON c.id = w.id JOIN docs_page p ON p.id = c.page_id"
                f" JOIN docs_source s ON s.id = p.source_id WHERE {_VISIBLE}{condition} ORDER BY w.score DESC",
                (expression, limit, *values),
            ).fetchall()
        return [_found(row) for row in rows]


def _found(row: tuple[Any, ...]) -> FoundChunk:
    return FoundChunk(*row[:6], tuple(row[6].split()), *row[7:])


def _among(source_ids: Collection[str] | None) -> tuple[str, tuple[str, ...]]:
    if source_ids is None:
        return "", ()
    return f" AND s.id IN ({', '.join('?' * len(source_ids))})", tuple(source_ids)


def _drop(connection: sqlite3.Connection, source_id: str, place: str, generation: int) -> None:
    """Mark the old version of a page; what this crawl wrote for it before an interruption goes at once."""
    _delete_pages(connection, "source_id = ? AND place = ? AND added = ?", (source_id, place, generation))
    connection.execute(
        "UPDATE docs_page SET dropped = ? WHERE source_id = ? AND place = ? AND dropped IS NULL",
        (generation, source_id, place),
    )


def _insert_page(connection: sqlite3.Connection, source_id: str, generation: int, page: PageRow) -> None:
    page_id = connection.execute(
        "INSERT INTO docs_page (source_id, url, place, title, etag, last_modified, hash, added) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (source_id, page.url, page.place, page.title, page.etag, page.last_modified, page.hash, generation),
    ).lastrowid
    first = connection.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM docs_chunk").fetchone()[0]
    connection.executemany(
        "INSERT INTO docs_chunk VALUES (?, ?, ?, ?, ?, ?)",
        [
            (first + position, page_id, position, chunk.section, " ".join(chunk.anchors), chunk.text)
            for position, chunk in enumerate(page.chunks)
        ],
    )
    connection.executemany(
        "INSERT INTO docs_words (rowid, heading, trail, anchors, body) VALUES (?, ?, ?, ?, ?)",
        [
            (first + position, chunk.heading_words, chunk.trail_words, chunk.anchor_words, chunk.body_words)
            for position, chunk in enumerate(page.chunks)
        ],
    )


def _delete_pages(connection: sqlite3.Connection, condition: str, values: Sequence[str | int]) -> int:
    pages = f"SELECT id FROM docs_page WHERE {condition}"
    chunks = f"SELECT id FROM docs_chunk WHERE page_id IN ({pages})"
    connection.execute(f"DELETE FROM docs_words WHERE rowid IN ({chunks})", values)
    connection.execute(f"DELETE FROM docs_chunk WHERE page_id IN ({pages})", values)
    return connection.execute(f"DELETE FROM docs_page WHERE {condition}", values).rowcount
