"""Copy a library out of PostgreSQL, or into an empty database."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from deltos.store.apis import NewUnit, UnitRow, WordsRow
from deltos.store.documents import CrawlAddress
from deltos.store.postgres.docs import ADDRESS_COLUMNS, digest_of, hold_source, insert_addresses, insert_source
from deltos.store.postgres.docs_index import CHUNK_WORDS, PAGE_WORDS, chunk_words
from deltos.store.postgres.posting_index import ITEM_BITS
from deltos.store.transfer import TransferredApi, TransferredChunk, TransferredPage, TransferredSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.store.postgres.database import Connection, PostgresDatabase
    from deltos.store.postgres.library import PostgresLibrary
    from deltos.store.transfer import Vector

_PAGES_AT_ONCE = 100
_PAGE = "url, address, title, etag, last_modified, hash, added, dropped, links_in"
_UNIT = "kind, key, pointer, title, grouping_name, method, path, tags, deprecated, id"


class PostgresLibraryTransfer:
    """Reads and writes a whole library."""

    def __init__(self, library: PostgresLibrary) -> None:
        self._library = library

    def names(self) -> set[str]:
        """Return the ids of all sources and the lower-case names of all APIs."""
        sources, apis = self._library.sources.sources(), self._library.apis.apis()
        return {*(source.id for source in sources), *(api.name.lower() for api in apis)}

    def sources(self) -> Iterator[TransferredSource]:
        """Yield every documentation source."""
        database = self._library.database
        for source in self._library.sources.sources():
            rows = database.query(
                f"SELECT {ADDRESS_COLUMNS} FROM docs_address WHERE source_id = %s ORDER BY url",
                (source.id,),
            )
            addresses = tuple(CrawlAddress(*row) for row in rows)
            yield TransferredSource(
                source, self._library.sources.crawl(source.id), addresses, _pages(database, source.id)
            )

    def apis(self) -> Iterator[TransferredApi]:
        """Yield every API."""
        query = f"""SELECT {", ".join(f"u.{name}" for name in _UNIT.split(", "))}, u.body,
            u.names, u.words_title, u.words_tags, u.description, u.details, v.model, v.data FROM api_unit u
            LEFT JOIN api_unit_vector v ON v.key = u.id AND v.model <> '' WHERE u.api = %s ORDER BY u.id"""
        for api in self._library.apis.apis():
            yield TransferredApi(api, tuple(_unit(row) for row in self._library.database.query(query, (api.id,))))

    def add_source(self, carried: TransferredSource) -> None:
        """Write a new source in one transaction."""
        with self._library.database.write() as connection:
            insert_source(connection, carried.source)
            number = hold_source(connection, carried.source.id) or 0
            if (crawl := carried.crawl) is not None:
                connection.execute(
                    "INSERT INTO docs_crawl VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
                    (
                        crawl.source_id, crawl.generation, crawl.state, crawl.reason, crawl.is_full,
                        crawl.is_seeded, crawl.started_at, crawl.finished_at,
                    ),
                )  # fmt: skip
            insert_addresses(connection, carried.source.id, carried.addresses)
            while pages := list(islice(carried.pages, _PAGES_AT_ONCE)):
                _add_pages(connection, number, pages)

    def add_api(self, carried: TransferredApi) -> None:
        """Write a new API."""
        self._library.apis.replace(carried.api, [unit for unit, _ in carried.units])
        api = self._library.apis.api(carried.api.name)
        ids = sorted(self._library.apis.unit_ids(api.id)) if api else []
        with self._library.database.write() as connection, connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE api_unit_vector SET model = %s, data = %s WHERE key = %s",
                [(*vector, key) for key, (_, vector) in zip(ids, carried.units, strict=True) if vector is not None],
            )


def _pages(database: PostgresDatabase, source_id: str) -> Iterator[TransferredPage]:
    [(number,)] = database.query("SELECT number FROM docs_source WHERE id = %s", (source_id,))
    query = f"""SELECT id, {_PAGE}, link_targets, link_texts, is_indexed, title_words, heading_words, body_words
        FROM docs_page WHERE source = %s AND id > %s ORDER BY id LIMIT {_PAGES_AT_ONCE}"""
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
    return tuple(TransferredChunk._make((*row[:6], _known(row[6:11]), _known(row[11:13]))) for row in rows)


def _known(cells: tuple[Any, ...]) -> Any:
    return None if cells[0] is None else cells


def _unit(row: tuple[Any, ...]) -> tuple[NewUnit, Vector | None]:
    words = None if row[11] is None else WordsRow(*row[11:16])
    return NewUnit(UnitRow(*row[:10]), row[10], words), _known(row[16:18])


def _add_pages(connection: Connection, source: int, pages: Sequence[TransferredPage]) -> None:
    """Write pages with their chunks, words and vectors."""
    page_ids = _next_ids(connection, source, len(pages))
    _copy(
        connection,
        f"docs_page (source, id, digest, {_PAGE}, link_targets, link_texts, is_indexed, title_words, heading_words,"
        " body_words)",
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
    _copy(
        connection,
        "docs_chunk (source, id, page_id, position, section, anchors, is_definition, text, traits, links_in,"
        " heading_words, trail_words, anchor_words, link_words, body_words)",
        [
            (source, chunk_id, page_id, position, *chunk[:6], *(chunk.words or (None,) * 5))
            for chunk_id, (page_id, position, chunk) in numbered
        ],
    )
    _copy(
        connection,
        "docs_chunk_vector (key, model, data)",
        [(chunk_id, *chunk.vector) for chunk_id, (_, _, chunk) in numbered if chunk.vector is not None],
    )
    indexed = [chunk_words(chunk_id, chunk.words) for chunk_id, (_, _, chunk) in numbered if chunk.words is not None]
    CHUNK_WORDS.add(connection, source, indexed)
    known = [
        PAGE_WORDS.words_of(page_id, page.words)
        for page_id, page in zip(page_ids, pages, strict=True)
        if page.words is not None
    ]
    PAGE_WORDS.add(connection, source, known)


def _copy(connection: Connection, target: str, rows: Sequence[Sequence[object]]) -> None:
    with connection.cursor() as cursor, cursor.copy(f"COPY {target} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def _next_ids(connection: Connection, source: int, count: int) -> list[int]:
    rows = connection.execute("SELECT nextval('docs_item') FROM generate_series(1, %s) ORDER BY 1", (count,)).fetchall()
    return [(source << ITEM_BITS) + row[0] for row in rows]
