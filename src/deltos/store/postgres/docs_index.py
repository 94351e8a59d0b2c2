"""Write documentation to PostgreSQL: pages, chunks, links and word indexes. Sources and crawls are in `docs`.

Tables are partitioned by the number of the source. The high bits of a page or chunk id are that number, which
determines the partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.documents import Batch, DocsChunkWords, KnownPage, PageRow, PageWords, StoredChunk, StoredPage
from deltos.store.migration import Migration
from deltos.store.postgres.docs import (
    ADDRESSES,
    digest_of,
    lock_source,
)
from deltos.store.postgres.posting_index import (
    ITEM_BITS,
    ItemWords,
    PostingIndex,
    ascii_terms,
    ids_of_owner,
    owner_of,
    owners_of,
    partitioned_table_sql,
)
from deltos.store.postgres.statements import PostgresWriteConnection
from deltos.store.sources import close_crawl, is_crawl_open

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.store.postgres.database import Connection, PostgresDatabase

# Anchors, links, heading trail and body of a chunk have the same weight, so they share one field.
CHUNK_WORDS = PostingIndex("docs_chunk", ("heading", "rest"), ascii_terms)
PAGE_WORDS = PostingIndex("docs_page", ("title", "headings", "body"), ascii_terms)
_CHUNK_FIELDS = (0, 1, 1, 1, 1)
_WORD_COLUMNS = "heading_words, trail_words, anchor_words, link_words, body_words"
_NEXT_ID = f"(%s::bigint << {ITEM_BITS}) + nextval('docs_item')"

DOCS_INDEX_001 = Migration(
    "docs-index-001",
    f"""
    CREATE SEQUENCE docs_item AS bigint MAXVALUE {2**ITEM_BITS - 1};
    {
        partitioned_table_sql(
            "docs_page",
            "source",
            '''
            source integer NOT NULL,
            id bigint NOT NULL,
            url text NOT NULL,
            address text NOT NULL,
            digest bytea NOT NULL,
            title text NOT NULL,
            etag text NOT NULL,
            last_modified text NOT NULL,
            hash bytea NOT NULL,
            added bigint NOT NULL,
            dropped bigint,
            is_indexed boolean NOT NULL DEFAULT false,
            links_in bigint NOT NULL DEFAULT 0,
            link_targets text[] NOT NULL,
            link_texts text[] NOT NULL,
            title_words text,
            heading_words text,
            body_words text,
            PRIMARY KEY (source, id)
            ''',
        )
    }
    CREATE INDEX docs_page_by_address ON docs_page (source, digest);
    CREATE INDEX docs_page_by_generation ON docs_page (source, added);
    {
        partitioned_table_sql(
            "docs_chunk",
            "source",
            '''
            source integer NOT NULL,
            id bigint NOT NULL,
            page_id bigint NOT NULL,
            position integer NOT NULL,
            section text NOT NULL,
            anchors text NOT NULL,
            is_definition boolean NOT NULL,
            links_in bigint NOT NULL DEFAULT 0,
            text text NOT NULL,
            heading_words text,
            trail_words text,
            anchor_words text,
            link_words text,
            body_words text,
            PRIMARY KEY (source, id)
            ''',
        )
    }
    CREATE INDEX docs_chunk_by_page ON docs_chunk (source, page_id, position);
    {CHUNK_WORDS.create_sql}
    {PAGE_WORDS.create_sql}
    """,
)

DOCS_INDEX_002 = Migration(
    "docs-index-002-traits", "ALTER TABLE docs_chunk ADD COLUMN traits integer NOT NULL DEFAULT 0;"
)

# Each crawl writes a generation: a numbered version of a source's pages. A page is visible from the generation `added`
# up to, but not including, the generation `dropped`.
VISIBLE = "p.added <= s.generation AND (p.dropped IS NULL OR p.dropped > s.generation)"
_SOURCE_CONDITION = "p.source = (SELECT number FROM docs_source WHERE id = %s)"
_NEXT_PAGES = f"docs_page p WHERE {_SOURCE_CONDITION} AND p.dropped IS NULL"


class PostgresPages:
    """Implementation of `store.documents.Pages`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.database = database

    def known_pages(self, source_id: str) -> dict[str, KnownPage]:
        rows = self.database.query(
            f"SELECT address, etag, last_modified, hash FROM {_NEXT_PAGES} ORDER BY added", (source_id,)
        )
        return {address: KnownPage(etag, last_modified, digest) for address, etag, last_modified, digest in rows}

    def published_urls(self, source_id: str) -> list[str]:
        rows = self.database.query(
            "SELECT DISTINCT p.address FROM docs_page p JOIN docs_source s ON s.number = p.source"
            f" WHERE s.id = %s AND {_SOURCE_CONDITION} AND {VISIBLE}",
            (source_id, source_id),
        )
        return [row[0] for row in rows]

    def write(self, source_id: str, generation: int, batch: Batch) -> bool:
        with self.database.write() as connection:
            source = lock_source(connection, source_id)
            statements = PostgresWriteConnection(connection)
            if source is None or not is_crawl_open(statements, source_id, generation, lock="FOR UPDATE"):
                return False
            for address in dict.fromkeys(page.requested_url for page in batch.pages):
                _drop_page(connection, source, address, generation)
            for page in batch.pages:
                _insert_page(connection, source, generation, page)
            ADDRESSES.insert(statements, source_id, batch.discovered)
            ADDRESSES.record_results(statements, source_id, batch.crawled)
            return True

    # ------------------------------------------------------------------ words

    def drop_unseen_pages(self, source_id: str, generation: int) -> int:
        with self.database.write() as connection:
            source = lock_source(connection, source_id)
            connection.execute(
                "UPDATE docs_page SET dropped = %s WHERE source = %s AND dropped IS NULL AND added < %s"
                " AND digest NOT IN"
                " (SELECT digest FROM docs_address WHERE source_id = %s AND state IN ('unchanged', 'failed'))",
                (generation, source, generation, source_id),
            )
            query = "SELECT count(*) FROM docs_page WHERE source = %s AND dropped = %s"
            row = connection.execute(query, (source, generation)).fetchone()
            return int(row[0]) if row else 0

    def next_pages(self, source_id: str) -> list[StoredPage]:
        rows = self.database.query(
            f"SELECT id, url, title, is_indexed, links_in FROM {_NEXT_PAGES} ORDER BY id", (source_id,)
        )
        return [StoredPage(*row) for row in rows]

    def next_anchors(self, source_id: str) -> Iterator[tuple[int, int, str]]:
        yield from self.database.query(
            "SELECT c.page_id, c.id, c.anchors FROM docs_page p JOIN docs_chunk c"
            f" ON c.source = p.source AND c.page_id = p.id WHERE {_SOURCE_CONDITION} AND c.{_SOURCE_CONDITION[2:]}"
            " AND p.dropped IS NULL ORDER BY c.page_id, c.position",
            (source_id, source_id),
        )

    def next_links(self, source_id: str) -> Iterator[tuple[int, str, str]]:
        for page_id, targets, texts in self.database.query(
            f"SELECT id, link_targets, link_texts FROM {_NEXT_PAGES} ORDER BY id", (source_id,)
        ):
            for target, text in zip(targets, texts, strict=True):
                yield page_id, target, text

    def indexed_links(self, source_id: str) -> dict[int, tuple[str, int]]:
        rows = self.database.query(
            "SELECT c.id, c.link_words, c.links_in FROM docs_page p JOIN docs_chunk c"
            f" ON c.source = p.source AND c.page_id = p.id WHERE {_SOURCE_CONDITION} AND c.{_SOURCE_CONDITION[2:]}"
            " AND p.dropped IS NULL AND p.is_indexed AND c.link_words IS NOT NULL",
            (source_id, source_id),
        )
        return {chunk_id: (links, links_in) for chunk_id, links, links_in in rows}

    def chunks_of(self, page_id: int) -> list[StoredChunk]:
        rows = self.database.query(
            "SELECT id, section, anchors, text FROM docs_chunk WHERE source = %s AND page_id = %s ORDER BY position",
            (owner_of(page_id), page_id),
        )
        return [
            StoredChunk(chunk_id, section, tuple(anchors.split()), text) for chunk_id, section, anchors, text in rows
        ]

    def write_words(self, pages: Sequence[PageWords], chunks: Sequence[DocsChunkWords]) -> None:
        with self.database.write() as connection:
            for source in owners_of([*(page.page_id for page in pages), *(chunk.chunk_id for chunk in chunks)]):
                _lock_source(connection, source)
                _write_chunk_words(connection, source, [c for c in chunks if owner_of(c.chunk_id) == source])
                _write_page_words(connection, source, [p for p in pages if owner_of(p.page_id) == source])

    def update_links(self, chunks: Sequence[tuple[int, str, int]], pages: Sequence[tuple[int, int]]) -> None:
        with self.database.write() as connection:
            for source in owners_of([*(chunk[0] for chunk in chunks), *(page[0] for page in pages)]):
                _lock_source(connection, source)
                _update_chunk_links(connection, source, [c for c in chunks if owner_of(c[0]) == source])
                connection.execute(
                    "UPDATE docs_page SET links_in = n.links_in"
                    " FROM unnest(%s::bigint[], %s::bigint[]) AS n (id, links_in)"
                    " WHERE docs_page.source = %s AND docs_page.id = n.id",
                    ([page[0] for page in pages], [page[1] for page in pages], source),
                )

    # ------------------------------------------------------------------ generations

    def publish(self, source_id: str, generation: int, left_out: str = "", *, now: float) -> bool:
        with self.database.write() as connection:
            source = lock_source(connection, source_id)
            statements = PostgresWriteConnection(connection)
            if source is None or not is_crawl_open(statements, source_id, generation, lock="FOR UPDATE"):
                return False
            _delete_pages(connection, source, "dropped <= %s", (generation,))
            connection.execute(
                "UPDATE docs_source SET generation = %s, crawled_at = %s WHERE id = %s", (generation, now, source_id)
            )
            return close_crawl(statements, source_id, "done", left_out, now)

    def discard(self, source_id: str) -> None:
        with self.database.write() as connection:
            source = lock_source(connection, source_id)
            if source is not None:
                newer = "added > (SELECT generation FROM docs_source WHERE number = %s)"
                _delete_pages(connection, source, newer, (source,))
                connection.execute(
                    "UPDATE docs_page SET dropped = NULL WHERE source = %s AND dropped IS NOT NULL", (source,)
                )

    def remove_source(self, source_id: str) -> int:
        with self.database.write() as connection:
            source = lock_source(connection, source_id)
            if source is None:
                return 0
            connection.execute("DELETE FROM docs_chunk WHERE source = %s", (source,))
            connection.execute("DELETE FROM docs_chunk_vector WHERE key BETWEEN %s AND %s", ids_of_owner(source))
            pages = connection.execute("DELETE FROM docs_page WHERE source = %s", (source,)).rowcount
            for index in (CHUNK_WORDS, PAGE_WORDS):
                index.remove_owner(connection, source)
            connection.execute("DELETE FROM docs_source WHERE id = %s", (source_id,))
            return pages


def _lock_source(connection: Connection, source: int) -> None:
    """Lock a source against other writers until this transaction ends."""
    connection.execute("SELECT 1 FROM docs_source WHERE number = %s FOR NO KEY UPDATE", (source,))


def _drop_page(connection: Connection, source: int, address: str, generation: int) -> None:
    """Mark the old version of a page as dropped, and delete the version that an interrupted run of this crawl wrote."""
    _delete_pages(connection, source, "digest = %s AND added = %s", (digest_of(address), generation))
    connection.execute(
        "UPDATE docs_page SET dropped = %s WHERE source = %s AND digest = %s AND dropped IS NULL",
        (generation, source, digest_of(address)),
    )


def _insert_page(connection: Connection, source: int, generation: int, page: PageRow) -> None:
    row = connection.execute(
        "INSERT INTO docs_page (source, id, url, address, digest, title, etag, last_modified, hash, added,"
        f" link_targets, link_texts) VALUES (%s, {_NEXT_ID}, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id",
        (
            source, source, page.url, page.requested_url, digest_of(page.requested_url), page.title, page.etag,
            page.last_modified, page.hash, generation, [target for target, _ in page.links],
            [text for _, text in page.links],
        ),
    ).fetchone()  # fmt: skip
    page_id = row[0] if row else 0
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO docs_chunk (source, id, page_id, position, section, anchors, is_definition, text, traits)"
            f" VALUES (%s, {_NEXT_ID}, %s, %s, %s, %s, %s, %s, %s)",
            [
                (source, source, page_id, at, chunk.section, " ".join(chunk.anchors), *chunk[2:])
                for at, chunk in enumerate(page.chunks)
            ],
        )


def _write_chunk_words(connection: Connection, source: int, chunks: Sequence[DocsChunkWords]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE docs_chunk SET heading_words = %s, trail_words = %s, anchor_words = %s, link_words = %s,"
            " body_words = %s, links_in = %s WHERE source = %s AND id = %s",
            [
                (c.heading, c.trail, c.anchors, c.links, c.body, c.links_in, source, c.chunk_id)
                for c in chunks
            ],
        )  # fmt: skip
    CHUNK_WORDS.add(
        connection,
        source,
        [chunk_words(c.chunk_id, (c.heading, c.trail, c.anchors, c.links, c.body)) for c in chunks],
    )


def _write_page_words(connection: Connection, source: int, pages: Sequence[PageWords]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE docs_page SET title_words = %s, heading_words = %s, body_words = %s, links_in = %s,"
            " is_indexed = true WHERE source = %s AND id = %s",
            [(p.title, p.headings, p.body, p.links_in, source, p.page_id) for p in pages],
        )
    PAGE_WORDS.add(connection, source, [PAGE_WORDS.words_of(p.page_id, (p.title, p.headings, p.body)) for p in pages])


def _update_chunk_links(connection: Connection, source: int, chunks: Sequence[tuple[int, str, int]]) -> None:
    """Index chunks again after the words of links to these chunks have changed."""
    links = {chunk_id: words for chunk_id, words, _ in chunks}
    before = connection.execute(
        f"SELECT id, {_WORD_COLUMNS} FROM docs_chunk WHERE source = %s AND id = ANY(%s) AND body_words IS NOT NULL"
        " ORDER BY id",
        (source, list(links)),
    ).fetchall()
    CHUNK_WORDS.remove(connection, source, [chunk_words(chunk_id, words) for chunk_id, *words in before])
    CHUNK_WORDS.add(
        connection,
        source,
        [
            chunk_words(chunk_id, (heading, trail, anchors, links[chunk_id], body))
            for chunk_id, heading, trail, anchors, _, body in before
        ],
    )
    connection.execute(
        "UPDATE docs_chunk SET link_words = n.words, links_in = n.links_in"
        " FROM unnest(%s::bigint[], %s::text[], %s::bigint[]) AS n (id, words, links_in)"
        " WHERE docs_chunk.source = %s AND docs_chunk.id = n.id AND docs_chunk.body_words IS NOT NULL",
        ([c[0] for c in chunks], [c[1] for c in chunks], [c[2] for c in chunks], source),
    )


def chunk_words(chunk_id: int, texts: Sequence[str]) -> ItemWords:
    """Return the index words of a chunk. `texts` are heading, heading trail, anchors, link texts and body."""
    return CHUNK_WORDS.words_of(chunk_id, texts, _CHUNK_FIELDS)


def _delete_pages(connection: Connection, source: int, condition: str, values: Sequence[object]) -> int:
    pages = [
        row[0]
        for row in connection.execute(
            f"SELECT id FROM docs_page WHERE source = %s AND {condition}", (source, *values)
        ).fetchall()
    ]
    for some in _batches(pages):
        _delete_page_batch(connection, source, some)
    return len(pages)


def _delete_page_batch(connection: Connection, source: int, pages: list[int]) -> None:
    chunks = connection.execute(
        f"DELETE FROM docs_chunk WHERE source = %s AND page_id = ANY(%s) RETURNING id, {_WORD_COLUMNS}",
        (source, pages),
    ).fetchall()
    connection.execute("DELETE FROM docs_chunk_vector WHERE key = ANY(%s)", ([row[0] for row in chunks],))
    gone = connection.execute(
        "DELETE FROM docs_page WHERE source = %s AND id = ANY(%s)"
        " RETURNING id, title_words, heading_words, body_words, is_indexed",
        (source, pages),
    ).fetchall()
    indexed = [chunk_words(chunk_id, words) for chunk_id, *words in chunks if words[-1] is not None]
    if indexed:
        CHUNK_WORDS.remove(connection, source, indexed)
    indexed = [PAGE_WORDS.words_of(page_id, words) for page_id, *words, is_indexed in gone if is_indexed]
    if indexed:
        PAGE_WORDS.remove(connection, source, indexed)


def _batches(pages: Sequence[int], size: int = 200) -> Iterable[list[int]]:
    return (list(pages[start : start + size]) for start in range(0, len(pages), size))
