"""Documentation sources in SQLite: their crawls and the addresses of each crawl. `docs_index` has pages and chunks."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from deltos.store.documents import CrawlAddress, CrawlRow, CrawlState, SkippedAddresses, SourceRow
from deltos.store.migration import Migration
from deltos.store.sqlite.lock import try_lock

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.sqlite.database import SqliteDatabase

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

# Several versions may share one name. SQLite cannot drop a constraint, so the table is rebuilt; migrations run without
# foreign keys, so that dropping the old table does not cascade.
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

# How a source is fetched: the name of a login, and whether a browser renders its pages.
DOCS_004 = Migration(
    "docs-004-access",
    """
    ALTER TABLE docs_source ADD COLUMN auth TEXT NOT NULL DEFAULT '';
    ALTER TABLE docs_source ADD COLUMN browser INTEGER NOT NULL DEFAULT 0;
    """,
)

# Part of a repository to read: a folder, and the full name of the branch or tag.
DOCS_005 = Migration(
    "docs-005-repository",
    """
    ALTER TABLE docs_source ADD COLUMN folder TEXT NOT NULL DEFAULT '';
    ALTER TABLE docs_source ADD COLUMN reference TEXT NOT NULL DEFAULT '';
    """,
)

# HTTP validators, to ask whether a response that gave no page has changed.
DOCS_007 = Migration(
    "docs-007-validators",
    """
    ALTER TABLE docs_place ADD COLUMN etag TEXT NOT NULL DEFAULT '';
    ALTER TABLE docs_place ADD COLUMN last_modified TEXT NOT NULL DEFAULT '';
    """,
)

# Projects that see a source. Sources that were visible everywhere before remain so.
DOCS_008 = Migration(
    "docs-008-projects",
    """
    ALTER TABLE docs_source ADD COLUMN projects TEXT NOT NULL DEFAULT '["*"]';
    UPDATE docs_source SET projects = json_array(project_root)
        WHERE project_root <> '' AND (kind IN ('pypi', 'npm') OR url NOT LIKE '%://%');
    """,
)

ADDRESS_COLUMNS = "url, depth, state, attempts, reason, etag, last_modified"
_SOURCE_COLUMNS = tuple(field.name for field in fields(SourceRow))


class SqliteSources:
    """Implements `store.documents.Sources`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.database = database

    # ------------------------------------------------------------------ sources

    def sources(self) -> list[SourceRow]:
        rows = self.database.read().execute("SELECT * FROM docs_source ORDER BY name").fetchall()
        return [_source(row) for row in rows]

    def source(self, source_id: str) -> SourceRow | None:
        row = self.database.read().execute("SELECT * FROM docs_source WHERE id = ?", (source_id,)).fetchone()
        return _source(row) if row else None

    def add_source(self, source: SourceRow) -> None:
        with self.database.write() as connection:
            insert_source(connection, source)

    def set_version(self, source_id: str, version: str) -> None:
        with self.database.write() as connection:
            connection.execute("UPDATE docs_source SET version = ? WHERE id = ?", (version, source_id))

    def set_projects(self, source_id: str, projects: Sequence[str]) -> None:
        with self.database.write() as connection:
            connection.execute("UPDATE docs_source SET projects = ? WHERE id = ?", (json.dumps(projects), source_id))

    # ------------------------------------------------------------------ crawls

    def try_lock(self, source_id: str) -> AbstractContextManager[bool]:
        return try_lock(self.database.path.parent / "locks" / f"docs-{source_id}.lock")

    def crawl(self, source_id: str) -> CrawlRow | None:
        row = self.database.read().execute("SELECT * FROM docs_crawl WHERE source_id = ?", (source_id,)).fetchone()
        return _crawl(row) if row else None

    def open_crawls(self) -> list[str]:
        rows = self.database.read().execute("SELECT source_id FROM docs_crawl WHERE state = 'open'").fetchall()
        return [row[0] for row in rows]

    def begin_crawl(self, source_id: str, *, is_full: bool, now: float) -> None:
        with self.database.write() as connection:
            connection.execute(
                "DELETE FROM docs_place WHERE source_id = ? AND (reason = '' OR ?)", (source_id, is_full)
            )
            connection.execute(
                "UPDATE docs_place SET state = 'queued', attempts = 0, reason = CASE"
                " WHEN state IN ('failed', 'missing') AND etag || last_modified = '' THEN state ELSE reason END"
                " WHERE source_id = ?",
                (source_id,),
            )
            connection.execute(
                "INSERT OR REPLACE INTO docs_crawl"
                " SELECT id, generation + 1, 'open', '', ?, 0, ?, 0 FROM docs_source WHERE id = ?",
                (is_full, now, source_id),
            )

    def seed(self, source_id: str, places: Iterable[CrawlAddress]) -> None:
        with self.database.write() as connection:
            places = list(places)
            insert_addresses(connection, source_id, places)
            settle_addresses(connection, source_id, [place for place in places if place.state != "queued"])
            connection.execute("UPDATE docs_crawl SET is_seeded = 1 WHERE source_id = ?", (source_id,))

    def end_crawl(self, source_id: str, state: CrawlState, reason: str, now: float) -> bool:
        with self.database.write() as connection:
            return close_crawl(connection, source_id, state, reason, now)

    def forget(self, source_id: str, urls: Iterable[str]) -> None:
        with self.database.write() as connection:
            connection.executemany(
                "DELETE FROM docs_place WHERE source_id = ? AND url = ?", [(source_id, url) for url in urls]
            )

    def queued(self, source_id: str) -> list[CrawlAddress]:
        rows = (
            self.database.read()
            .execute(
                f"SELECT {ADDRESS_COLUMNS} FROM docs_place"
                " WHERE source_id = ? AND state = 'queued' ORDER BY depth, url",
                (source_id,),
            )
            .fetchall()
        )
        return [CrawlAddress(*row) for row in rows]

    def known_urls(self, source_id: str) -> set[str]:
        rows = self.database.read().execute("SELECT url FROM docs_place WHERE source_id = ?", (source_id,))
        return {row[0] for row in rows}

    def address_counts(self, source_id: str) -> dict[str, int]:
        rows = self.database.read().execute(
            "SELECT state, COUNT(*) FROM docs_place WHERE source_id = ? GROUP BY state", (source_id,)
        )
        return dict(rows.fetchall())

    def failed_addresses(self, source_id: str) -> list[CrawlAddress]:
        rows = self.database.read().execute(
            f"SELECT {ADDRESS_COLUMNS} FROM docs_place"
            " WHERE source_id = ? AND state IN ('failed', 'missing') ORDER BY url",
            (source_id,),
        )
        return [CrawlAddress(*row) for row in rows]

    def count_reason(self, source_id: str, reason: str) -> int:
        row = self.database.read().execute(
            "SELECT COUNT(*) FROM docs_place WHERE source_id = ? AND reason = ?", (source_id, reason)
        )
        return int(row.fetchone()[0])

    def skip_reasons(self, source_id: str, limit: int) -> list[SkippedAddresses]:
        rows = self.database.read().execute(
            "SELECT reason, COUNT(*), MIN(url) FROM docs_place WHERE source_id = ? AND state = 'skipped'"
            " GROUP BY reason ORDER BY COUNT(*) DESC, MIN(url) LIMIT ?",
            (source_id, limit),
        )
        return [SkippedAddresses(*row) for row in rows]

    def first_reason(self, source_id: str) -> str:
        row = (
            self.database.read()
            .execute(
                "SELECT reason FROM docs_place WHERE source_id = ? AND reason <> ''"
                " ORDER BY state IN ('failed', 'missing') DESC, depth, url LIMIT 1",
                (source_id,),
            )
            .fetchone()
        )
        return str(row[0]).partition("\n")[0] if row else ""


def insert_source(connection: sqlite3.Connection, source: SourceRow) -> None:
    """Insert a new source."""
    connection.execute(
        "INSERT INTO docs_source VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            source.id, source.name, source.kind, source.url, source.version, json.dumps(source.include),
            json.dumps(source.exclude), source.max_pages, source.max_depth, source.project_root,
            source.generation, source.added_at, source.crawled_at, source.auth, source.browser,
            source.folder, source.reference, json.dumps(source.projects),
        ),
    )  # fmt: skip


def insert_addresses(connection: sqlite3.Connection, source_id: str, places: Iterable[CrawlAddress]) -> None:
    """Insert addresses that the crawl does not know yet; known ones stay unchanged."""
    connection.executemany(
        f"INSERT OR IGNORE INTO docs_place (source_id, {ADDRESS_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (source_id, each.url, each.depth, each.state, each.attempts, each.reason, each.etag, each.last_modified)
            for each in places
        ],
    )


def settle_addresses(connection: sqlite3.Connection, source_id: str, places: Sequence[CrawlAddress]) -> None:
    """Record the result of crawling addresses."""
    connection.executemany(
        "UPDATE docs_place SET state = ?, attempts = ?, reason = ?, etag = ?, last_modified = ?"
        " WHERE source_id = ? AND url = ?",
        [
            (each.state, each.attempts, each.reason, each.etag, each.last_modified, source_id, each.url)
            for each in places
        ],
    )


def crawl_is_open(connection: sqlite3.Connection, source_id: str, generation: int) -> bool:
    """Whether exactly that crawl is still open: not cancelled, not restarted, and its source not removed."""
    row = connection.execute(
        "SELECT 1 FROM docs_crawl WHERE source_id = ? AND generation = ? AND state = 'open'", (source_id, generation)
    ).fetchone()
    return row is not None


def close_crawl(connection: sqlite3.Connection, source_id: str, state: CrawlState, reason: str, now: float) -> bool:
    """Close an open crawl; False if it was already closed."""
    done = connection.execute(
        "UPDATE docs_crawl SET state = ?, reason = ?, finished_at = ? WHERE source_id = ? AND state = 'open'",
        (state, reason, now, source_id),
    )
    return done.rowcount > 0


def _source(row: Sequence[Any]) -> SourceRow:
    values = dict(zip(_SOURCE_COLUMNS, row, strict=True))
    for listed in ("include", "exclude", "projects"):
        values[listed] = tuple(json.loads(values[listed]))
    values["browser"] = bool(values["browser"])
    return SourceRow(**values)


def _crawl(row: tuple[str, int, CrawlState, str, int, int, float, float]) -> CrawlRow:
    source_id, generation, state, reason, is_full, is_seeded, started_at, finished_at = row
    return CrawlRow(source_id, generation, state, reason, bool(is_full), bool(is_seeded), started_at, finished_at)
