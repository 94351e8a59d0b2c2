"""Write documentation to SQLite: pages, chunks, links and word indexes. Sources and crawls are in `docs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.documents import Batch, DocsChunkWords, KnownPage, PageRow, PageWords, StoredChunk, StoredPage
from deltos.store.migration import Migration
from deltos.store.sources import close_crawl, is_crawl_open
from deltos.store.sqlite.docs import ADDRESSES

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Sequence

    from deltos.store.sqlite.database import SqliteDatabase

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
        dropped INTEGER,
        is_indexed INTEGER NOT NULL DEFAULT 0,
        links_in INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX docs_page_by_place ON docs_page (source_id, place);
    CREATE TABLE docs_chunk (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        page_id INTEGER NOT NULL,
        position INTEGER NOT NULL,
        section TEXT NOT NULL,
        anchors TEXT NOT NULL,
        is_definition INTEGER NOT NULL,
        text TEXT NOT NULL
    );
    CREATE INDEX docs_chunk_by_page ON docs_chunk (page_id, position);
    CREATE TABLE docs_link (page_id INTEGER NOT NULL, target TEXT NOT NULL, text TEXT NOT NULL);
    CREATE INDEX docs_link_by_page ON docs_link (page_id);
    CREATE VIRTUAL TABLE docs_words USING fts5 (
        heading, trail, anchors, links, body, links_in UNINDEXED, tokenize = 'ascii'
    );
    CREATE VIRTUAL TABLE docs_page_words USING fts5 (title, headings, body, tokenize = 'ascii');
    CREATE VIRTUAL TABLE docs_vocabulary USING fts5vocab (docs_words, row);
    """,
)

DOCS_006 = Migration("docs-006-traits", "ALTER TABLE docs_chunk ADD COLUMN traits INTEGER NOT NULL DEFAULT 0;")

# Each crawl writes a generation: a numbered version of a source's pages. A page is visible from the generation `added`
# up to, but not including, the generation `dropped`.
_VISIBLE = "p.added <= s.generation AND (p.dropped IS NULL OR p.dropped > s.generation)"


class SqlitePages:
    """Implementation of `store.documents.Pages` in a library file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.database = database

    def known_pages(self, source_id: str) -> dict[str, KnownPage]:
        rows = self.database.read().execute(
            "SELECT place, etag, last_modified, hash FROM docs_page WHERE source_id = ? AND dropped IS NULL"
            " ORDER BY added",
            (source_id,),
        )
        return {place: KnownPage(etag, last_modified, digest) for place, etag, last_modified, digest in rows}

    def published_urls(self, source_id: str) -> list[str]:
        rows = self.database.read().execute(
            "SELECT DISTINCT p.place FROM docs_page p JOIN docs_source s ON s.id = p.source_id"
            f" WHERE s.id = ? AND {_VISIBLE}",
            (source_id,),
        )
        return [row[0] for row in rows]

    def write(self, source_id: str, generation: int, batch: Batch) -> bool:
        with self.database.write() as connection:
            if not is_crawl_open(connection, source_id, generation):
                return False
            for place in dict.fromkeys(page.requested_url for page in batch.pages):
                _drop_page(connection, source_id, place, generation)
            for page in batch.pages:
                _insert_page(connection, source_id, generation, page)
            ADDRESSES.insert(connection, source_id, batch.discovered)
            ADDRESSES.record_results(connection, source_id, batch.crawled)
            return True

    # ------------------------------------------------------------------ words

    def drop_unseen_pages(self, source_id: str, generation: int) -> int:
        with self.database.write() as connection:
            connection.execute(
                "UPDATE docs_page SET dropped = ?2 WHERE source_id = ?1 AND dropped IS NULL AND added < ?2"
                " AND place NOT IN"
                " (SELECT url FROM docs_place WHERE source_id = ?1 AND state IN ('unchanged', 'failed'))",
                (source_id, generation),
            )
            query = "SELECT COUNT(*) FROM docs_page WHERE source_id = ? AND dropped = ?"
            dropped: int = connection.execute(query, (source_id, generation)).fetchone()[0]
            return dropped

    def next_pages(self, source_id: str) -> list[StoredPage]:
        rows = self.database.read().execute(
            "SELECT id, url, title, is_indexed, links_in FROM docs_page WHERE source_id = ? AND dropped IS NULL",
            (source_id,),
        )
        return [StoredPage(page_id, url, title, bool(done), count) for page_id, url, title, done, count in rows]

    def next_anchors(self, source_id: str) -> Iterator[tuple[int, int, str]]:
        yield from self.database.read().execute(
            "SELECT c.page_id, c.id, c.anchors FROM docs_page p JOIN docs_chunk c ON c.page_id = p.id"
            " WHERE p.source_id = ? AND p.dropped IS NULL ORDER BY c.page_id, c.position",
            (source_id,),
        )

    def next_links(self, source_id: str) -> Iterator[tuple[int, str, str]]:
        yield from self.database.read().execute(
            "SELECT l.page_id, l.target, l.text FROM docs_page p JOIN docs_link l ON l.page_id = p.id"
            " WHERE p.source_id = ? AND p.dropped IS NULL",
            (source_id,),
        )

    def indexed_links(self, source_id: str) -> dict[int, tuple[str, int]]:
        rows = self.database.read().execute(
            "SELECT w.rowid, w.links, w.links_in FROM docs_page p JOIN docs_chunk c ON c.page_id = p.id"
            " JOIN docs_words w ON w.rowid = c.id WHERE p.source_id = ? AND p.dropped IS NULL AND p.is_indexed",
            (source_id,),
        )
        return {chunk_id: (links, links_in) for chunk_id, links, links_in in rows}

    def chunks_of(self, page_id: int) -> list[StoredChunk]:
        rows = self.database.read().execute(
            "SELECT id, section, anchors, text FROM docs_chunk WHERE page_id = ? ORDER BY position", (page_id,)
        )
        return [
            StoredChunk(chunk_id, section, tuple(anchors.split()), text) for chunk_id, section, anchors, text in rows
        ]

    def write_words(self, pages: Sequence[PageWords], chunks: Sequence[DocsChunkWords]) -> None:
        with self.database.write() as connection:
            connection.executemany(
                "INSERT INTO docs_words (rowid, heading, trail, anchors, links, body, links_in)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(c.chunk_id, c.heading, c.trail, c.anchors, c.links, c.body, c.links_in) for c in chunks],
            )
            connection.executemany(
                "INSERT INTO docs_page_words (rowid, title, headings, body) VALUES (?, ?, ?, ?)",
                [(page.page_id, page.title, page.headings, page.body) for page in pages],
            )
            connection.executemany(
                "UPDATE docs_page SET is_indexed = 1, links_in = ? WHERE id = ?",
                [(page.links_in, page.page_id) for page in pages],
            )

    def update_links(self, chunks: Sequence[tuple[int, str, int]], pages: Sequence[tuple[int, int]]) -> None:
        with self.database.write() as connection:
            connection.executemany("UPDATE docs_words SET links = ?2, links_in = ?3 WHERE rowid = ?1", chunks)
            connection.executemany("UPDATE docs_page SET links_in = ?2 WHERE id = ?1", pages)

    # ------------------------------------------------------------------ generations

    def publish(self, source_id: str, generation: int, left_out: str = "", *, now: float) -> bool:
        with self.database.write() as connection:
            if not is_crawl_open(connection, source_id, generation):
                return False
            _delete_pages(connection, "source_id = ? AND dropped <= ?", (source_id, generation))
            connection.execute(
                "UPDATE docs_source SET generation = ?, crawled_at = ? WHERE id = ?", (generation, now, source_id)
            )
            return close_crawl(connection, source_id, "done", left_out, now)

    def discard(self, source_id: str) -> None:
        with self.database.write() as connection:
            row = connection.execute("SELECT generation FROM docs_source WHERE id = ?", (source_id,)).fetchone()
            if row is not None:
                _delete_pages(connection, "source_id = ? AND added > ?", (source_id, row[0]))
                connection.execute("UPDATE docs_page SET dropped = NULL WHERE source_id = ?", (source_id,))

    def remove_source(self, source_id: str) -> int:
        with self.database.write() as connection:
            pages = _delete_pages(connection, "source_id = ?", (source_id,))
            connection.execute("DELETE FROM docs_source WHERE id = ?", (source_id,))
            return pages


def visible_sources(source_ids: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Return an SQL condition that selects the visible pages `p` of the given sources `s`, and the bound values."""
    return f"{_VISIBLE} AND s.id IN ({', '.join('?' * len(source_ids))})", tuple(source_ids)


def _drop_page(connection: sqlite3.Connection, source_id: str, place: str, generation: int) -> None:
    """Mark the old version of a page as dropped, and delete the version that an interrupted run of this crawl wrote."""
    _delete_pages(connection, "source_id = ? AND place = ? AND added = ?", (source_id, place, generation))
    connection.execute(
        "UPDATE docs_page SET dropped = ? WHERE source_id = ? AND place = ? AND dropped IS NULL",
        (generation, source_id, place),
    )


def _insert_page(connection: sqlite3.Connection, source_id: str, generation: int, page: PageRow) -> None:
    page_id = connection.execute(
        "INSERT INTO docs_page (source_id, url, place, title, etag, last_modified, hash, added)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (source_id, page.url, page.requested_url, page.title, page.etag, page.last_modified, page.hash, generation),
    ).lastrowid
    connection.executemany(
        "INSERT INTO docs_chunk (page_id, position, section, anchors, is_definition, text, traits)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (page_id, position, chunk.section, " ".join(chunk.anchors), *chunk[2:])
            for position, chunk in enumerate(page.chunks)
        ],
    )
    connection.executemany(
        "INSERT INTO docs_link VALUES (?, ?, ?)", [(page_id, target, text) for target, text in page.links]
    )


def _delete_pages(connection: sqlite3.Connection, condition: str, values: Sequence[str | int]) -> int:
    pages = f"SELECT id FROM docs_page WHERE {condition}"
    chunks = f"SELECT id FROM docs_chunk WHERE page_id IN ({pages})"
    connection.execute(f"DELETE FROM docs_words WHERE rowid IN ({chunks})", values)
    connection.execute(f"DELETE FROM docs_page_words WHERE rowid IN ({pages})", values)
    connection.execute(f"DELETE FROM docs_chunk WHERE page_id IN ({pages})", values)
    connection.execute(f"DELETE FROM docs_link WHERE page_id IN ({pages})", values)
    return connection.execute(f"DELETE FROM docs_page WHERE {condition}", values).rowcount
