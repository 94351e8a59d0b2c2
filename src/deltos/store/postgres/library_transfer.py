"""Copy a library from a PostgreSQL database, or into an empty database."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from deltos.store.postgres.docs import ADDRESSES, digest_of, lock_source
from deltos.store.postgres.docs_index import CHUNK_WORDS, PAGE_WORDS, chunk_words
from deltos.store.postgres.posting_index import ITEM_BITS
from deltos.store.postgres.statements import PostgresWriteConnection
from deltos.store.sources import insert_crawl, insert_source
from deltos.store.transfer import LibraryTransfer, TransferredChunk, TransferredPage, row_or_none

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.store.postgres.database import Connection, PostgresDatabase
    from deltos.store.postgres.library import PostgresLibrary
    from deltos.store.transfer import TransferredApi, TransferredSource

_PAGE_BATCH_SIZE = 100
_PAGE_COLUMNS = "url, address, title, etag, last_modified, hash, added, dropped, links_in"
_UNIT_COLUMNS = "kind, key, pointer, title, grouping_name, method, path, tags, deprecated, id"


class PostgresLibraryTransfer(LibraryTransfer):
    """Reads a complete library from a PostgreSQL database, or writes it to an empty database."""

    def __init__(self, library: PostgresLibrary) -> None:
        super().__init__(library)
        self._library = library

    def _pages(self, source_id: str) -> Iterator[TransferredPage]:
        return _pages(self._library.database, source_id)

    def _unit_rows(self, api_id: int) -> Iterable[Sequence[Any]]:
        query = f"""SELECT {", ".join(f"u.{name}" for name in _UNIT_COLUMNS.split(", "))}, u.body,
            u.names, u.words_title, u.words_tags, u.description, u.details, v.model, v.data FROM api_unit u
            LEFT JOIN api_unit_vector v ON v.key = u.id AND v.model <> '' WHERE u.api = %s ORDER BY u.id"""
        return self._library.database.query(query, (api_id,))

    def add_source(self, transferred: TransferredSource) -> None:
        """Write a documentation source, which the database does not contain yet, in one transaction."""
        with self._library.database.write() as connection:
            statements = PostgresWriteConnection(connection)
            insert_source(statements, transferred.source)
            number = lock_source(connection, transferred.source.id) or 0
            if (crawl := transferred.crawl) is not None:
                insert_crawl(statements, crawl)
            ADDRESSES.insert(statements, transferred.source.id, transferred.addresses)
            while pages := list(islice(transferred.pages, _PAGE_BATCH_SIZE)):
                _add_pages(connection, number, pages)

    def add_api(self, transferred: TransferredApi) -> None:
        """Write an API that the database does not contain yet."""
        self._library.apis.replace(transferred.api, [unit for unit, _ in transferred.units])
        api = self._library.apis.api(transferred.api.name)
        ids = sorted(self._library.apis.unit_ids(api.id)) if api else []
        with self._library.database.write() as connection, connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE api_unit_vector SET model = %s, data = %s WHERE key = %s",
                [(*vector, key) for key, (_, vector) in zip(ids, transferred.units, strict=True) if vector is not None],
            )


def _pages(database: PostgresDatabase, source_id: str) -> Iterator[TransferredPage]:
    [(number,)] = database.query("SELECT number FROM docs_source WHERE id = %s", (source_id,))
    query = f"""SELECT id, {_PAGE_COLUMNS}, link_targets, link_texts, is_indexed, title_words, heading_words, body_words
        FROM docs_page WHERE source = %s AND id > %s ORDER BY id LIMIT {_PAGE_BATCH_SIZE}"""
    last = 0
    while rows := database.query(query, (number, last)):
        for page_id, *cells, targets, texts, is_indexed, title, headings, body in rows:
            links = tuple(zip(targets, texts, strict=True))
            words = (title, headings, body) if is_indexed else None
            yield TransferredPage._make((*cells, links, words, _chunks(database, number, page_id)))
        last = rows[-1][0]


def _chunks(database: PostgresDatabase, source: int, page_id: int) -> tuple[TransferredChunk, ...]:
    rows = database.query(
        """SELECT c.section, c.anchors, c.is_definition, c.text, c.traits, c.links_in, c.heading_words, c.trail_words,
           c.anchor_words, c.link_words, c.body_words, v.model, v.data FROM docs_chunk c
           LEFT JOIN docs_chunk_vector v ON v.key = c.id WHERE c.source = %s AND c.page_id = %s ORDER BY c.position""",
        (source, page_id),
    )
    return tuple(TransferredChunk._make((*row[:6], row_or_none(row[6:11]), row_or_none(row[11:13]))) for row in rows)


def _add_pages(connection: Connection, source: int, pages: Sequence[TransferredPage]) -> None:
    """Write the pages of a source, including chunks, index words and vectors."""
    page_ids = _next_ids(connection, source, len(pages))
    _copy_rows(
        connection,
        f"docs_page (source, id, digest, {_PAGE_COLUMNS}, link_targets, link_texts, is_indexed, title_words,"
        " heading_words, body_words)",
        [
            (
                source, page_id, digest_of(page.address), *page[:9], [target for target, _ in page.links],
                [text for _, text in page.links], page.words is not None, *(page.words or (None,) * 3),
            )
            for page_id, page in zip(page_ids, pages, strict=True)
        ],
    )  # fmt: skip
    chunks = [
        (page_id, position, chunk)
        for page_id, page in zip(page_ids, pages, strict=True)
        for position, chunk in enumerate(page.chunks)
    ]
    numbered = list(zip(_next_ids(connection, source, len(chunks)), chunks, strict=True))
    _copy_rows(
        connection,
        "docs_chunk (source, id, page_id, position, section, anchors, is_definition, text, traits, links_in,"
        " heading_words, trail_words, anchor_words, link_words, body_words)",
        [
            (source, chunk_id, page_id, position, *chunk[:6], *(chunk.words or (None,) * 5))
            for chunk_id, (page_id, position, chunk) in numbered
        ],
    )
    _copy_rows(
        connection,
        "docs_chunk_vector (key, model, data)",
        [(chunk_id, *chunk.vector) for chunk_id, (_, _, chunk) in numbered if chunk.vector is not None],
    )
    indexed = [chunk_words(chunk_id, chunk.words) for chunk_id, (_, _, chunk) in numbered if chunk.words is not None]
    CHUNK_WORDS.add(connection, source, indexed)
    pages_words = [
        PAGE_WORDS.words_of(page_id, page.words)
        for page_id, page in zip(page_ids, pages, strict=True)
        if page.words is not None
    ]
    PAGE_WORDS.add(connection, source, pages_words)


def _copy_rows(connection: Connection, target: str, rows: Sequence[Sequence[object]]) -> None:
    with connection.cursor() as cursor, cursor.copy(f"COPY {target} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def _next_ids(connection: Connection, source: int, count: int) -> list[int]:
    rows = connection.execute("SELECT nextval('docs_item') FROM generate_series(1, %s) ORDER BY 1", (count,)).fetchall()
    return [(source << ITEM_BITS) + row[0] for row in rows]
