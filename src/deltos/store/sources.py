"""Documentation sources, crawls of the sources and URLs of each crawl, for both storage engines."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Any

from deltos.store.documents import CrawlAddress, CrawlRow, CrawlState, SkippedAddresses, SourceRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.statements import Statements, WriteConnection

ADDRESS_COLUMNS = "url, depth, state, attempts, reason, etag, last_modified"
_SOURCE_FIELDS = tuple(field.name for field in fields(SourceRow))
_SOURCE_COLUMNS = ", ".join(_SOURCE_FIELDS)
_CRAWL_COLUMNS = ", ".join(field.name for field in fields(CrawlRow))


@dataclass(frozen=True, slots=True)
class AddressTable:
    """Table of the URLs of crawls.

    `name` is the table, `key` the column that identifies a URL within a source, and `key_of` returns the value of that
    column for a URL.
    """

    name: str
    key: str
    key_of: Callable[[str], object]

    def insert(self, connection: WriteConnection, source_id: str, addresses: Iterable[CrawlAddress]) -> None:
        """Insert new URLs of a crawl. URLs that the crawl already contains are not changed."""
        has_own_key = self.key != "url"
        columns = f"source_id, {f'{self.key}, ' if has_own_key else ''}{ADDRESS_COLUMNS}"
        marks = ", ".join("?" * (columns.count(",") + 1))
        rows = [
            (
                source_id, *((self.key_of(each.url),) if has_own_key else ()), each.url, each.depth, each.state,
                each.attempts, each.reason, each.etag, each.last_modified,
            )
            for each in addresses
        ]  # fmt: skip
        connection.executemany(f"INSERT INTO {self.name} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING", rows)

    def record_results(self, connection: WriteConnection, source_id: str, addresses: Iterable[CrawlAddress]) -> None:
        """Record the results of crawling URLs."""
        connection.executemany(
            f"UPDATE {self.name} SET state = ?, attempts = ?, reason = ?, etag = ?, last_modified = ?"
            f" WHERE source_id = ? AND {self.key} = ?",
            [
                (
                    each.state, each.attempts, each.reason, each.etag, each.last_modified, source_id,
                    self.key_of(each.url),
                )
                for each in addresses
            ],
        )  # fmt: skip


class Sources(ABC):
    """Store of documentation sources and their crawls."""

    addresses: AddressTable
    order: str

    def __init__(self, statements: Statements) -> None:
        self._statements = statements

    @abstractmethod
    def try_lock(self, source_id: str) -> AbstractContextManager[bool]:
        """Return a context manager that yields whether this process acquired the lock for crawling a source.

        The lock is released at the end of the block or process.
        """

    @abstractmethod
    def _lock_source(self, connection: WriteConnection, source_id: str) -> None:
        """Lock a source against other writers until the transaction ends, if the engine requires a lock."""

    def sources(self) -> list[SourceRow]:
        """Return all sources, ordered by name."""
        rows = self._statements.query(f"SELECT {_SOURCE_COLUMNS} FROM docs_source ORDER BY {self.order}")
        return [_source_from_row(row) for row in rows]

    def source(self, source_id: str) -> SourceRow | None:
        """Return the source with this id, or None. Several versions of a source may have the same name."""
        rows = self._statements.query(f"SELECT {_SOURCE_COLUMNS} FROM docs_source WHERE id = ?", (source_id,))
        return _source_from_row(rows[0]) if rows else None

    def add_source(self, source: SourceRow) -> None:
        """Store a new source."""
        with self._statements.write() as connection:
            insert_source(connection, source)

    def set_version(self, source_id: str, version: str) -> None:
        """Record the version that the crawl detected."""
        with self._statements.write() as connection:
            connection.execute("UPDATE docs_source SET version = ? WHERE id = ?", (version, source_id))

    def set_projects(self, source_id: str, projects: Sequence[str]) -> None:
        """Record which projects can use a source."""
        with self._statements.write() as connection:
            connection.execute("UPDATE docs_source SET projects = ? WHERE id = ?", (json.dumps(projects), source_id))

    def crawl(self, source_id: str) -> CrawlRow | None:
        """Return the running or last crawl of a source, or None before the first crawl."""
        rows = self._statements.query(f"SELECT {_CRAWL_COLUMNS} FROM docs_crawl WHERE source_id = ?", (source_id,))
        if not rows:
            return None
        source, generation, state, reason, is_full, is_seeded, started_at, finished_at = rows[0]
        return CrawlRow(source, generation, state, reason, bool(is_full), bool(is_seeded), started_at, finished_at)

    def open_crawls(self) -> list[str]:
        """Return the ids of sources whose crawl has not finished."""
        return [row[0] for row in self._statements.query("SELECT source_id FROM docs_crawl WHERE state = 'open'")]

    def begin_crawl(self, source_id: str, *, is_full: bool, now: float) -> None:
        """Open a crawl, which writes the next generation (version of the pages) of a source.

        Unless `is_full` is true, URLs that had no page in the last crawl are queued again. Their `reason` states why
        the last crawl skipped them, or their state in that crawl (`failed` or `missing`).
        """
        table = self.addresses.name
        with self._statements.write() as connection:
            self._lock_source(connection, source_id)
            connection.execute(f"DELETE FROM {table} WHERE source_id = ? AND (reason = '' OR ?)", (source_id, is_full))
            connection.execute(
                f"UPDATE {table} SET state = 'queued', attempts = 0, reason = CASE"
                " WHEN state IN ('failed', 'missing') AND etag || last_modified = '' THEN state ELSE reason END"
                " WHERE source_id = ?",
                (source_id,),
            )
            connection.execute("DELETE FROM docs_crawl WHERE source_id = ?", (source_id,))
            connection.execute(
                f"INSERT INTO docs_crawl ({_CRAWL_COLUMNS})"
                " SELECT id, generation + 1, 'open', '', ?, false, ?, 0 FROM docs_source WHERE id = ?",
                (is_full, now, source_id),
            )

    def seed_crawl(self, source_id: str, addresses: Iterable[CrawlAddress]) -> None:
        """Record the first URLs of a crawl, which are queued or have already failed, and mark the crawl as seeded."""
        addresses = list(addresses)
        with self._statements.write() as connection:
            self._lock_source(connection, source_id)
            self.addresses.insert(connection, source_id, addresses)
            self.addresses.record_results(connection, source_id, [each for each in addresses if each.state != "queued"])
            connection.execute("UPDATE docs_crawl SET is_seeded = true WHERE source_id = ?", (source_id,))

    def end_crawl(self, source_id: str, state: CrawlState, reason: str, now: float) -> bool:
        """Close an open crawl without publishing it. Return False if it was already closed."""
        with self._statements.write() as connection:
            return close_crawl(connection, source_id, state, reason, now)

    def forget(self, source_id: str, urls: Iterable[str]) -> None:
        """Delete URLs that do not need to be crawled."""
        sql = f"DELETE FROM {self.addresses.name} WHERE source_id = ? AND {self.addresses.key} = ?"
        with self._statements.write() as connection:
            connection.executemany(sql, [(source_id, self.addresses.key_of(url)) for url in urls])

    def queued_addresses(self, source_id: str) -> list[CrawlAddress]:
        """Return the queued URLs, ordered by depth (number of links from the first URL)."""
        return self._select_addresses("source_id = ? AND state = 'queued' ORDER BY depth, url", source_id)

    def failed_addresses(self, source_id: str) -> list[CrawlAddress]:
        """Return the URLs that could not be fetched, with the reasons."""
        return self._select_addresses("source_id = ? AND state IN ('failed', 'missing') ORDER BY url", source_id)

    def all_addresses(self, source_id: str) -> list[CrawlAddress]:
        """Return all URLs of a source."""
        return self._select_addresses("source_id = ? ORDER BY url", source_id)

    def _select_addresses(self, condition: str, source_id: str) -> list[CrawlAddress]:
        sql = f"SELECT {ADDRESS_COLUMNS} FROM {self.addresses.name} WHERE {condition}"
        return [CrawlAddress(*row) for row in self._statements.query(sql, (source_id,))]

    def known_urls(self, source_id: str) -> set[str]:
        """Return all URLs known to the crawl."""
        sql = f"SELECT url FROM {self.addresses.name} WHERE source_id = ?"
        return {row[0] for row in self._statements.query(sql, (source_id,))}

    def address_counts(self, source_id: str) -> dict[str, int]:
        """Return the number of URLs by state."""
        sql = f"SELECT state, count(*) FROM {self.addresses.name} WHERE source_id = ? GROUP BY state"
        return dict(self._statements.query(sql, (source_id,)))

    def skip_reasons(self, source_id: str, limit: int) -> list[SkippedAddresses]:
        """Return up to `limit` reasons for skipped URLs, most frequent first."""
        rows = self._statements.query(
            f"SELECT reason, count(*), min(url) FROM {self.addresses.name} WHERE source_id = ? AND state = 'skipped'"
            " GROUP BY reason ORDER BY count(*) DESC, min(url) LIMIT ?",
            (source_id, limit),
        )
        return [SkippedAddresses(*row) for row in rows]

    def first_skip_reason(self, source_id: str) -> str:
        """Return why the first failed URL, or else the first skipped URL, has no page. Return "" if there is none."""
        rows = self._statements.query(
            f"SELECT reason FROM {self.addresses.name} WHERE source_id = ? AND reason <> ''"
            " ORDER BY state IN ('failed', 'missing') DESC, depth, url LIMIT 1",
            (source_id,),
        )
        return str(rows[0][0]).partition("\n")[0] if rows else ""


def insert_source(connection: WriteConnection, source: SourceRow) -> None:
    """Insert a new source."""
    values = [getattr(source, name) for name in _SOURCE_FIELDS]
    values = [json.dumps(value) if isinstance(value, tuple) else value for value in values]
    marks = ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO docs_source ({_SOURCE_COLUMNS}) VALUES ({marks})", values)


def insert_crawl(connection: WriteConnection, crawl: CrawlRow) -> None:
    """Insert a crawl of a source that has no crawl."""
    sql = f"INSERT INTO docs_crawl ({_CRAWL_COLUMNS}) VALUES ({', '.join('?' * len(fields(CrawlRow)))})"
    connection.execute(sql, astuple(crawl))


def is_crawl_open(connection: WriteConnection, source_id: str, generation: int, *, lock: str = "") -> bool:
    """Whether this crawl is still open: it was neither cancelled nor restarted, and the source was not removed.

    `lock` is an SQL clause that keeps the crawl open until the transaction ends.
    """
    sql = f"SELECT 1 FROM docs_crawl WHERE source_id = ? AND generation = ? AND state = 'open' {lock}"
    return connection.execute(sql, (source_id, generation)).fetchone() is not None


def close_crawl(connection: WriteConnection, source_id: str, state: CrawlState, reason: str, now: float) -> bool:
    """Close an open crawl. Return False if it was already closed."""
    sql = "UPDATE docs_crawl SET state = ?, reason = ?, finished_at = ? WHERE source_id = ? AND state = 'open'"
    return connection.execute(sql, (state, reason, now, source_id)).rowcount > 0


def _source_from_row(row: Sequence[Any]) -> SourceRow:
    values = dict(zip(_SOURCE_FIELDS, row, strict=True))
    for name in ("include", "exclude", "projects"):
        values[name] = tuple(json.loads(values[name]))
    return SourceRow(**values)
