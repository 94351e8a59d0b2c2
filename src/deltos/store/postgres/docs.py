"""Documentation sources in PostgreSQL: their crawls and the addresses of each crawl. `docs_index` has pages and
chunks."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from deltos.digest import sha256
from deltos.store.documents import CrawlAddress, CrawlRow, CrawlState, SkippedAddresses, SourceRow
from deltos.store.migration import Migration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.postgres.database import Connection, PostgresDatabase

# Pages and chunks refer to their source by `number`; their ids begin with it.
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

# HTTP validators, to ask whether a response that gave no page has changed.
DOCS_SOURCES_002 = Migration(
    "docs-sources-002-validators",
    """
    ALTER TABLE docs_address ADD COLUMN etag text NOT NULL DEFAULT '';
    ALTER TABLE docs_address ADD COLUMN last_modified text NOT NULL DEFAULT '';
    """,
)

# Projects that see a source. Sources that were visible everywhere before remain so.
DOCS_SOURCES_003 = Migration(
    "docs-sources-003-projects",
    """
    ALTER TABLE docs_source ADD COLUMN projects text NOT NULL DEFAULT '["*"]';
    DROP TABLE docs_claim_note;
    UPDATE docs_source SET projects = json_build_array(project_root)::text
        WHERE project_root <> '' AND (kind IN ('pypi', 'npm') OR position('://' in url) = 0);
    """,
)

_SOURCE_FIELDS = tuple(field.name for field in fields(SourceRow))
_SOURCE_COLUMNS = ", ".join(_SOURCE_FIELDS)
_CRAWL_COLUMNS = ", ".join(field.name for field in fields(CrawlRow))
ADDRESS_COLUMNS = "url, depth, state, attempts, reason, etag, last_modified"


class PostgresSources:
    """Implements `store.documents.Sources`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.database = database

    # ------------------------------------------------------------------ sources

    def sources(self) -> list[SourceRow]:
        rows = self.database.query(
            f'SELECT {_SOURCE_COLUMNS} FROM docs_source ORDER BY lower(name COLLATE "C"), number'
        )
        return [_source(row) for row in rows]

    def source(self, source_id: str) -> SourceRow | None:
        rows = self.database.query(f"SELECT {_SOURCE_COLUMNS} FROM docs_source WHERE id = %s", (source_id,))
        return _source(rows[0]) if rows else None

    def add_source(self, source: SourceRow) -> None:
        with self.database.write() as connection:
            insert_source(connection, source)

    def set_version(self, source_id: str, version: str) -> None:
        with self.database.write() as connection:
            connection.execute("UPDATE docs_source SET version = %s WHERE id = %s", (version, source_id))

    def set_projects(self, source_id: str, projects: Sequence[str]) -> None:
        with self.database.write() as connection:
            connection.execute("UPDATE docs_source SET projects = %s WHERE id = %s", (json.dumps(projects), source_id))

    # ------------------------------------------------------------------ crawls

    def try_lock(self, source_id: str) -> AbstractContextManager[bool]:
        return self.database.try_lock(f"docs-{source_id}")

    def crawl(self, source_id: str) -> CrawlRow | None:
        rows = self.database.query(f"SELECT {_CRAWL_COLUMNS} FROM docs_crawl WHERE source_id = %s", (source_id,))
        return CrawlRow(*rows[0]) if rows else None

    def open_crawls(self) -> list[str]:
        return [row[0] for row in self.database.query("SELECT source_id FROM docs_crawl WHERE state = 'open'")]

    def begin_crawl(self, source_id: str, *, is_full: bool, now: float) -> None:
        with self.database.write() as connection:
            hold_source(connection, source_id)
            connection.execute(
                "DELETE FROM docs_address WHERE source_id = %s AND (reason = '' OR %s)", (source_id, is_full)
            )
            connection.execute(
                "UPDATE docs_address SET state = 'queued', attempts = 0, reason = CASE"
                " WHEN state IN ('failed', 'missing') AND etag || last_modified = '' THEN state ELSE reason END"
                " WHERE source_id = %s",
                (source_id,),
            )
            connection.execute("DELETE FROM docs_crawl WHERE source_id = %s", (source_id,))
            connection.execute(
                f"INSERT INTO docs_crawl ({_CRAWL_COLUMNS})"
                " SELECT id, generation + 1, 'open', '', %s, false, %s, 0 FROM docs_source WHERE id = %s",
                (is_full, now, source_id),
            )

    def seed(self, source_id: str, addresses: Iterable[CrawlAddress]) -> None:
        with self.database.write() as connection:
            hold_source(connection, source_id)
            addresses = list(addresses)
            insert_addresses(connection, source_id, addresses)
            settle_addresses(connection, source_id, [each for each in addresses if each.state != "queued"])
            connection.execute("UPDATE docs_crawl SET is_seeded = true WHERE source_id = %s", (source_id,))

    def end_crawl(self, source_id: str, state: CrawlState, reason: str, now: float) -> bool:
        with self.database.write() as connection:
            return close_crawl(connection, source_id, state, reason, now)

    def forget(self, source_id: str, urls: Iterable[str]) -> None:
        with self.database.write() as connection, connection.cursor() as cursor:
            cursor.executemany(
                "DELETE FROM docs_address WHERE source_id = %s AND digest = %s",
                [(source_id, digest_of(url)) for url in urls],
            )

    def queued(self, source_id: str) -> list[CrawlAddress]:
        rows = self.database.query(
            f"SELECT {ADDRESS_COLUMNS} FROM docs_address WHERE source_id = %s AND state = 'queued' ORDER BY depth, url",
            (source_id,),
        )
        return [CrawlAddress(*row) for row in rows]

    def known_urls(self, source_id: str) -> set[str]:
        rows = self.database.query("SELECT url FROM docs_address WHERE source_id = %s", (source_id,))
        return {row[0] for row in rows}

    def address_counts(self, source_id: str) -> dict[str, int]:
        rows = self.database.query(
            "SELECT state, count(*) FROM docs_address WHERE source_id = %s GROUP BY state", (source_id,)
        )
        return dict(rows)

    def failed_addresses(self, source_id: str) -> list[CrawlAddress]:
        rows = self.database.query(
            f"SELECT {ADDRESS_COLUMNS} FROM docs_address WHERE source_id = %s AND state IN ('failed', 'missing')"
            " ORDER BY url",
            (source_id,),
        )
        return [CrawlAddress(*row) for row in rows]

    def count_reason(self, source_id: str, reason: str) -> int:
        [(count,)] = self.database.query(
            "SELECT count(*) FROM docs_address WHERE source_id = %s AND reason = %s", (source_id, reason)
        )
        return int(count)

    def skip_reasons(self, source_id: str, limit: int) -> list[SkippedAddresses]:
        rows = self.database.query(
            "SELECT reason, count(*), min(url) FROM docs_address WHERE source_id = %s AND state = 'skipped'"
            " GROUP BY reason ORDER BY count(*) DESC, min(url) LIMIT %s",
            (source_id, limit),
        )
        return [SkippedAddresses(*row) for row in rows]

    def first_reason(self, source_id: str) -> str:
        rows = self.database.query(
            "SELECT reason FROM docs_address WHERE source_id = %s AND reason <> ''"
            " ORDER BY state IN ('failed', 'missing') DESC, depth, url LIMIT 1",
            (source_id,),
        )
        return str(rows[0][0]).partition("\n")[0] if rows else ""


def insert_source(connection: Connection, source: SourceRow) -> None:
    """Insert a new source."""
    values = [getattr(source, name) for name in _SOURCE_FIELDS]
    values = [json.dumps(value) if isinstance(value, tuple) else value for value in values]
    marks = ", ".join(["%s"] * len(values))
    connection.execute(f"INSERT INTO docs_source ({_SOURCE_COLUMNS}) VALUES ({marks})", values)


def digest_of(url: str) -> bytes:
    """Return the lookup key of an address; index entries are limited to 2,700 bytes."""
    return sha256(url.encode()).digest()


def hold_source(connection: Connection, source_id: str) -> int | None:
    """Lock a source until this transaction ends and return its number; None if it does not exist."""
    row = connection.execute("SELECT number FROM docs_source WHERE id = %s FOR NO KEY UPDATE", (source_id,)).fetchone()
    return None if row is None else int(row[0])


def insert_addresses(connection: Connection, source_id: str, addresses: Iterable[CrawlAddress]) -> None:
    """Insert addresses that the crawl does not know yet; known ones stay unchanged."""
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO docs_address (source_id, digest, {ADDRESS_COLUMNS})"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            [
                (
                    source_id,
                    digest_of(each.url),
                    each.url,
                    each.depth,
                    each.state,
                    each.attempts,
                    each.reason,
                    each.etag,
                    each.last_modified,
                )
                for each in addresses
            ],
        )


def settle_addresses(connection: Connection, source_id: str, addresses: Sequence[CrawlAddress]) -> None:
    """Record the result of crawling addresses."""
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE docs_address SET state = %s, attempts = %s, reason = %s, etag = %s, last_modified = %s"
            " WHERE source_id = %s AND digest = %s",
            [
                (
                    each.state,
                    each.attempts,
                    each.reason,
                    each.etag,
                    each.last_modified,
                    source_id,
                    digest_of(each.url),
                )
                for each in addresses
            ],
        )


def crawl_is_open(connection: Connection, source_id: str, generation: int) -> bool:
    """Whether exactly that crawl is still open: not cancelled, not restarted, and its source not removed."""
    row = connection.execute(
        "SELECT 1 FROM docs_crawl WHERE source_id = %s AND generation = %s AND state = 'open' FOR UPDATE",
        (source_id, generation),
    ).fetchone()
    return row is not None


def close_crawl(connection: Connection, source_id: str, state: CrawlState, reason: str, now: float) -> bool:
    """Close an open crawl; False if it was already closed."""
    done = connection.execute(
        "UPDATE docs_crawl SET state = %s, reason = %s, finished_at = %s WHERE source_id = %s AND state = 'open'",
        (state, reason, now, source_id),
    )
    return done.rowcount > 0


def _source(row: Sequence[Any]) -> SourceRow:
    values = dict(zip(_SOURCE_FIELDS, row, strict=True))
    for listed in ("include", "exclude", "projects"):
        values[listed] = tuple(json.loads(values[listed]))
    return SourceRow(**values)
