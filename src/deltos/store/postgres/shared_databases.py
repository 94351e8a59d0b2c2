"""Databases that this process has opened, with one connection pool per address.

Stores with different purposes have separate transactions, like separate SQLite files.
"""

from __future__ import annotations

import threading

from psycopg.conninfo import make_conninfo

from deltos.store.pools import PoolStatistics
from deltos.store.postgres.database import PostgresDatabase
from deltos.store.postgres.migrations import SCHEMA_STEPS

_opened: dict[str, dict[str, PostgresDatabase]] = {}
_lock = threading.Lock()
_MIN_CONNECT_SECONDS = 2  # minimum connect_timeout of libpq


def shared_database(url: str, purpose: str = "") -> PostgresDatabase:
    """Return the database at an address. It is opened and migrated on first use and stays open until the process
    ends."""
    with _lock:
        if url not in _opened:
            _opened[url] = {"": PostgresDatabase(url, migrations=SCHEMA_STEPS)}
        by_purpose = _opened[url]
        if purpose not in by_purpose:
            by_purpose[purpose] = by_purpose[""].with_own_snapshots()
        return by_purpose[purpose]


def pool_use(url: str) -> PoolStatistics | None:
    """Return statistics of the connection pool of an address, or None if no pool is open."""
    opened = _opened.get(url)  # read without the lock, which is held while another database is being opened
    return PoolStatistics(*opened[""].pool_counts()) if opened else None


def short_timeout_database(url: str, wait_seconds: float) -> PostgresDatabase:
    """Return a separate database object for callers that must not wait long for locks or for the server."""
    connect_timeout = max(_MIN_CONNECT_SECONDS, round(wait_seconds))
    return PostgresDatabase(
        make_conninfo(url, connect_timeout=connect_timeout), migrations=SCHEMA_STEPS, wait_seconds=wait_seconds
    )
