"""Tables of documentation sources in PostgreSQL. The tables of pages and chunks are in `docs_index`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.digest import sha256
from deltos.store.migration import Migration
from deltos.store.postgres.statements import PostgresStatements
from deltos.store.sources import AddressTable, Sources

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from deltos.store.postgres.database import Connection, PostgresDatabase
    from deltos.store.statements import WriteConnection

# `number` identifies the source in pages and chunks. It is also stored in the high bits of page and chunk ids.
DOCS_SOURCES_001 = Migration(
    "docs-sources-001",
    """
    CREATE TABLE docs_source (
        number integer GENERATED ALWAYS AS IDENTITY UNIQUE,
        id text COLLATE "C" PRIMARY KEY,
        name text COLLATE "C" NOT NULL,
        kind text NOT NULL,
        url text NOT NULL,
        version text NOT NULL,
        include text NOT NULL,
        exclude text NOT NULL,
        max_pages bigint NOT NULL,
        max_depth bigint NOT NULL,
        project_root text NOT NULL,
        generation bigint NOT NULL,
        added_at double precision NOT NULL,
        crawled_at double precision NOT NULL,
        auth text NOT NULL,
        browser boolean NOT NULL,
        folder text NOT NULL,
        reference text NOT NULL
    );
    CREATE TABLE docs_crawl (
        source_id text COLLATE "C" PRIMARY KEY REFERENCES docs_source (id) ON DELETE CASCADE,
        generation bigint NOT NULL,
        state text NOT NULL,
        reason text NOT NULL,
        is_full boolean NOT NULL,
        is_seeded boolean NOT NULL,
        started_at double precision NOT NULL,
        finished_at double precision NOT NULL
    );
    CREATE TABLE docs_address (
        source_id text COLLATE "C" NOT NULL REFERENCES docs_source (id) ON DELETE CASCADE,
        digest bytea NOT NULL,
        url text COLLATE "C" NOT NULL,
        depth bigint NOT NULL,
        state text NOT NULL,
        attempts bigint NOT NULL,
        reason text NOT NULL,
        PRIMARY KEY (source_id, digest)
    );
    CREATE INDEX docs_address_by_state ON docs_address (source_id, state);
    CREATE TABLE docs_claim_note (source_id text COLLATE "C" PRIMARY KEY, note text NOT NULL);
    """,
)

# HTTP validators (ETag, Last-Modified), used to check whether a response without a page has changed.
DOCS_SOURCES_002 = Migration(
    "docs-sources-002-validators",
    """
    ALTER TABLE docs_address ADD COLUMN etag text NOT NULL DEFAULT '';
    ALTER TABLE docs_address ADD COLUMN last_modified text NOT NULL DEFAULT '';
    """,
)

# New column: projects that can use a source. Existing sources remain available to all projects.
DOCS_SOURCES_003 = Migration(
    "docs-sources-003-projects",
    """
    ALTER TABLE docs_source ADD COLUMN projects text NOT NULL DEFAULT '["*"]';
    DROP TABLE docs_claim_note;
    UPDATE docs_source SET projects = json_build_array(project_root)::text
        WHERE project_root <> '' AND (kind IN ('pypi', 'npm') OR position('://' in url) = 0);
    """,
)

# Removed column: pages are no longer rendered in a browser.
DOCS_SOURCES_004 = Migration("docs-sources-004-no-browser", "ALTER TABLE docs_source DROP COLUMN browser;")

_LOCK_SOURCE = "SELECT number FROM docs_source WHERE id = %s FOR NO KEY UPDATE"


def digest_of(url: str) -> bytes:
    """Return the digest under which a URL is indexed."""
    # The digest is indexed instead of the URL, because index entries are limited to 2,700 bytes.
    return sha256(url.encode()).digest()


ADDRESSES = AddressTable("docs_address", "digest", digest_of)


class PostgresSources(Sources):
    """Documentation sources that all servers of a database share."""

    addresses = ADDRESSES
    order = 'lower(name COLLATE "C"), number'

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(PostgresStatements(database))
        self.database = database

    def try_lock(self, source_id: str) -> AbstractContextManager[bool]:
        return self.database.try_lock(f"docs-{source_id}")

    def _lock_source(self, connection: WriteConnection, source_id: str) -> None:
        connection.execute(_LOCK_SOURCE.replace("%s", "?"), (source_id,))


def lock_source(connection: Connection, source_id: str) -> int | None:
    """Lock a source until this transaction ends. Return the number of the source, or None if it does not exist."""
    row = connection.execute(_LOCK_SOURCE, (source_id,)).fetchone()
    return None if row is None else int(row[0])
