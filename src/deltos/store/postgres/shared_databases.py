"""Databases that this process has opened, with one connection pool per address.

Stores with different purposes have separate transactions, like separate SQLite files.
"""

from __future__ import annotations

import threading

from psycopg.conninfo import make_conninfo

from deltos.store.pools import PoolUse
from deltos.store.postgres.database import PostgresDatabase
from deltos.store.postgres.migrations import SCHEMA_STEPS

_opened: dict[str, dict[str, PostgresDatabase]] = {}
_lock = threading.Lock()
_MIN_CONNECT_SECONDS = 2  # minimum that libpq accepts


def shared_database(url: str, purpose: str = "") -> PostgresDatabase:
    """Return the database at an address, opened and migrated on first use. It stays open until the process ends."""
    with _lock:
        if url not in _opened:
            _opened[url] = {"": PostgresDatabase(url, migrations=SCHEMA_STEPS)}
        by_purpose = _opened[url]
        if purpose not in by_purpose:
            by_purpose[purpose] = by_purpose[""].with_own_snapshots()
        return by_purpose[purpose]


def pool_of(url: str) -> PoolUse | None:
    """Return statistics of this process's connections to an address, or None if no connection pool is open."""
    opened = _opened.get(url)  # read without the lock, which is held while another database is being opened
    return PoolUse(*opened[""].pool_counts()) if opened else None


def short_timeout_database(url: str, wait_seconds: float) -> PostgresDatabase:
    """Return a separate database object for callers that cannot wait long for locks or for the server."""
    connect_timeout = max(_MIN_CONNECT_SECONDS, round(wait_seconds))
    return PostgresDatabase(
        make_conninfo(url, connect_timeout=connect_timeout), migrations=SCHEMA_STEPS, wait_seconds=wait_seconds
    )
