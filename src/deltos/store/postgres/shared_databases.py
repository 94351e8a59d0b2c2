"""The databases opened by this process: one connection pool for each address.

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
_MIN_CONNECT_SECONDS = 2  # libpq's minimum


def shared_database(url: str, purpose: str = "") -> PostgresDatabase:
    """Return the database at an address, opened and migrated on first use; it stays open until the process ends."""
    with _lock:
        if url not in _opened:
            _opened[url] = {"": PostgresDatabase(url, migrations=SCHEMA_STEPS)}
        by_purpose = _opened[url]
        if purpose not in by_purpose:
            by_purpose[purpose] = by_purpose[""].with_own_snapshots()
        return by_purpose[purpose]


def pool_of(url: str) -> PoolUse | None:
    """Return statistics of this process's connections to an address; None if it is not open."""
    opened = _opened.get(url)  # without the lock, which is held while another database is connected to
    return PoolUse(*opened[""].pool_counts()) if opened else None


def short_timeout_database(url: str, wait_seconds: float) -> PostgresDatabase:
    """Return a separate database for callers that cannot wait long, neither for locks nor for the server."""
    patience = max(_MIN_CONNECT_SECONDS, round(wait_seconds))
    return PostgresDatabase(
        make_conninfo(url, connect_timeout=patience), migrations=SCHEMA_STEPS, wait_seconds=wait_seconds
    )
