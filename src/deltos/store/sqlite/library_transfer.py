"""Copy a library from an SQLite file, or into an empty SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.store.sources import insert_crawl, insert_source
from deltos.store.sqlite.docs import ADDRESSES
from deltos.store.transfer import LibraryTransfer, TransferredChunk, TransferredPage, row_or_none

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.store.sqlite.library import SqliteLibrary
    from deltos.store.transfer import TransferredApi, TransferredSource

_PAGE_COLUMNS = "id, url, place, title, etag, last_modified, hash, added, dropped, is_indexed, links_in"
_UNIT_COLUMNS = "kind, key, pointer, title, grouping, method, path, tags, deprecated, id"


class SqliteLibraryTransfer(LibraryTransfer):
    """Reads a complete library within one snapshot, or writes it within one transaction."""

    def __init__(self, library: SqliteLibrary) -> None:
        super().__init__(library)
        self._library = library

    def _pages(self, source_id: str) -> Iterator[TransferredPage]:
        return _pages(self._library.database.read(), source_id)

    def _unit_rows(self, api_id: int) -> Iterable[Sequence[Any]]:
        query = f"""SELECT {", ".join(f"u.{name}" for name in _UNIT_COLUMNS.split(", "))}, u.body,
            w.names, w.title, w.tags, w.description, w.details, v.model, v.data FROM api_unit u
            LEFT JOIN api_words w ON w.rowid = u.id LEFT JOIN api_unit_vector v ON v.key = u.id AND v.model <> ''
            WHERE u.api_id = ? ORDER BY u.id"""
        return self._library.database.read().execute(query, (api_id,))

    def add_source(self, transferred: TransferredSource) -> None:
        """Write a documentation source, which the file does not contain yet, in one transaction."""
        with self._library.database.write() as connection:
            insert_source(connection, transferred.source)
            if (crawl := transferred.crawl) is not None:
                insert_crawl(connection, crawl)
            ADDRESSES.insert(connection, transferred.source.id, transferred.addresses)
            for page in transferred.pages:
                _add_page(connection, transferred.source.id, page)

    def add_api(self, transferred: TransferredApi) -> None:
        """Write an API that the file does not contain yet."""
        self._library.apis.replace(transferred.api, [unit for unit, _ in transferred.units])
        api = self._library.apis.api(transferred.api.name)
        ids = sorted(self._library.apis.unit_ids(api.id)) if api else []
        with self._library.database.write() as connection:
            for unit_id, (_, vector) in zip(ids, transferred.units, strict=True):
                if vector is not None:
                    connection.execute(
                        "UPDATE api_unit_vector SET model = ?, data = ? WHERE key = ?", (*vector, unit_id)
                    )


def _pages(connection: sqlite3.Connection, source_id: str) -> Iterator[TransferredPage]:
    query = f"SELECT {_PAGE_COLUMNS} FROM docs_page WHERE source_id = ? ORDER BY id"
    for page_id, *cells, is_indexed, links_in in connection.execute(query, (source_id,)).fetchall():
        links = connection.execute("SELECT target, text FROM docs_link WHERE page_id = ? ORDER BY rowid", (page_id,))
        words = connection.execute("SELECT title, headings, body FROM docs_page_words WHERE rowid = ?", (page_id,))
        title_words = words.fetchone() if is_indexed else None
        chunks = _chunks(connection, page_id)
        yield TransferredPage._make((*cells, links_in, tuple(links.fetchall()), title_words, chunks))


def _chunks(connection: sqlite3.Connection, page_id: int) -> tuple[TransferredChunk, ...]:
    rows = connection.execute(
        """SELECT c.section, c.anchors, c.is_definition, c.text, c.traits, coalesce(w.links_in, 0),
           w.heading, w.trail, w.anchors, w.links, w.body, v.model, v.data FROM docs_chunk c
           LEFT JOIN docs_words w ON w.rowid = c.id LEFT JOIN docs_chunk_vector v ON v.key = c.id
           WHERE c.page_id = ? ORDER BY c.position""",
        (page_id,),
    )
    return tuple(
        TransferredChunk(
            row[0], row[1], bool(row[2]), row[3], row[4], row[5], row_or_none(row[6:11]), row_or_none(row[11:13])
        )
        for row in rows
    )


def _add_page(connection: sqlite3.Connection, source_id: str, page: TransferredPage) -> None:
    page_id = connection.execute(
        f"INSERT INTO docs_page (source_id, {_PAGE_COLUMNS.removeprefix('id, ')}) VALUES ({', '.join('?' * 11)})",
        (source_id, *page[:8], page.words is not None, page.links_in),
    ).lastrowid
    connection.executemany("INSERT INTO docs_link VALUES (?, ?, ?)", [(page_id, *link) for link in page.links])
    if page.words is not None:
        connection.execute(
            "INSERT INTO docs_page_words (rowid, title, headings, body) VALUES (?, ?, ?, ?)", (page_id, *page.words)
        )
    for position, chunk in enumerate(page.chunks):
        chunk_id = connection.execute(
            "INSERT INTO docs_chunk (page_id, position, section, anchors, is_definition, text, traits)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (page_id, position, *chunk[:5]),
        ).lastrowid
        if chunk.words is not None:
            connection.execute(
                "INSERT INTO docs_words (rowid, heading, trail, anchors, links, body, links_in)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (chunk_id, *chunk.words, chunk.links_in),
            )
        if chunk.vector is not None:
            connection.execute(
                "INSERT INTO docs_chunk_vector (key, model, data) VALUES (?, ?, ?)", (chunk_id, *chunk.vector)
            )
