"""Tables of documentation sources in SQLite. The tables of pages and chunks are in `docs_index`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.migration import Migration
from deltos.store.sources import AddressTable, Sources
from deltos.store.sqlite.lock import try_lock
from deltos.store.sqlite.statements import SqliteStatements

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from deltos.store.sqlite.database import SqliteDatabase
    from deltos.store.statements import WriteConnection

DOCS_001 = Migration(
    "docs-001-sources",
    """
    CREATE TABLE docs_source (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE COLLATE NOCASE,
        kind TEXT NOT NULL,
        url TEXT NOT NULL,
        version TEXT NOT NULL,
        include TEXT NOT NULL,
        exclude TEXT NOT NULL,
        max_pages INTEGER NOT NULL,
        max_depth INTEGER NOT NULL,
        project_root TEXT NOT NULL,
        generation INTEGER NOT NULL,
        added_at REAL NOT NULL,
        crawled_at REAL NOT NULL
    );
    CREATE TABLE docs_crawl (
        source_id TEXT PRIMARY KEY REFERENCES docs_source (id) ON DELETE CASCADE,
        generation INTEGER NOT NULL,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        is_full INTEGER NOT NULL,
        is_seeded INTEGER NOT NULL,
        started_at REAL NOT NULL,
        finished_at REAL NOT NULL
    );
    CREATE TABLE docs_place (
        source_id TEXT NOT NULL REFERENCES docs_source (id) ON DELETE CASCADE,
        url TEXT NOT NULL,
        depth INTEGER NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (source_id, url)
    ) WITHOUT ROWID;
    CREATE INDEX docs_place_by_state ON docs_place (source_id, state);
    """,
)

# Since this migration, several versions of a source may have the same name. SQLite cannot drop a constraint, so the
# table is rebuilt. Migrations run without foreign keys, so that dropping the old table deletes no rows of other tables.
DOCS_003 = Migration(
    "docs-003-versions",
    """
    CREATE TABLE docs_source_of_any_version (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL COLLATE NOCASE,
        kind TEXT NOT NULL,
        url TEXT NOT NULL,
        version TEXT NOT NULL,
        include TEXT NOT NULL,
        exclude TEXT NOT NULL,
        max_pages INTEGER NOT NULL,
        max_depth INTEGER NOT NULL,
        project_root TEXT NOT NULL,
        generation INTEGER NOT NULL,
        added_at REAL NOT NULL,
        crawled_at REAL NOT NULL
    );
    INSERT INTO docs_source_of_any_version SELECT * FROM docs_source;
    DROP TABLE docs_source;
    ALTER TABLE docs_source_of_any_version RENAME TO docs_source;
    """,
)

# New columns: the name of the login used to fetch a source, and whether a browser renders the pages.
DOCS_004 = Migration(
    "docs-004-access",
    """
    ALTER TABLE docs_source ADD COLUMN auth TEXT NOT NULL DEFAULT '';
    ALTER TABLE docs_source ADD COLUMN browser INTEGER NOT NULL DEFAULT 0;
    """,
)

# New columns: the folder of a repository to crawl, and the full name of the branch or tag.
DOCS_005 = Migration(
    "docs-005-repository",
    """
    ALTER TABLE docs_source ADD COLUMN folder TEXT NOT NULL DEFAULT '';
    ALTER TABLE docs_source ADD COLUMN reference TEXT NOT NULL DEFAULT '';
    """,
)

# HTTP validators (ETag, Last-Modified), used to check whether a response without a page has changed.
DOCS_007 = Migration(
    "docs-007-validators",
    """
    ALTER TABLE docs_place ADD COLUMN etag TEXT NOT NULL DEFAULT '';
    ALTER TABLE docs_place ADD COLUMN last_modified TEXT NOT NULL DEFAULT '';
    """,
)

# New column: projects that can use a source. Existing sources remain available to all projects.
DOCS_008 = Migration(
    "docs-008-projects",
    """
    ALTER TABLE docs_source ADD COLUMN projects TEXT NOT NULL DEFAULT '["*"]';
    UPDATE docs_source SET projects = json_array(project_root)
        WHERE project_root <> '' AND (kind IN ('pypi', 'npm') OR url NOT LIKE '%://%');
    """,
)

# Removed column: pages are no longer rendered in a browser.
DOCS_009 = Migration("docs-009-no-browser", "ALTER TABLE docs_source DROP COLUMN browser;")

ADDRESSES = AddressTable("docs_place", "url", lambda url: url)


class SqliteSources(Sources):
    """Documentation sources in a library file."""

    addresses = ADDRESSES
    order = "name, rowid"

    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(SqliteStatements(database))
        self.database = database

    def _lock_source(self, connection: WriteConnection, source_id: str) -> None:
        """Do nothing, because a write transaction locks the whole file."""

    def try_lock(self, source_id: str) -> AbstractContextManager[bool]:
        return try_lock(self.database.path.parent / "locks" / f"docs-{source_id}.lock")
