"""The databases opened by this process: one connection pool for each address and purpose.

Stores with different purposes have separate transactions, like separate SQLite files.
"""

from __future__ import annotations

import threading

from psycopg.conninfo import make_conninfo

from deltos.store.pools import PoolUse
from deltos.store.postgres.database import PostgresDatabase
from deltos.store.postgres.migrations import SCHEMA_STEPS

_opened: dict[tuple[str, str], PostgresDatabase] = {}
_lock = threading.Lock()
_MIN_CONNECT_SECONDS = 2  # libpq's minimum


def shared_database(url: str, purpose: str = "") -> PostgresDatabase:
    """Return the database at an address, opened and migrated on first use; it stays open until the process ends."""
    with _lock:
        database = _opened.get((url, purpose))
        if database is None:
            database = _opened[url, purpose] = PostgresDatabase(url, migrations=SCHEMA_STEPS)
        return database


def pools_of(url: str) -> list[PoolUse]:
    """Return statistics of this process's connection pools for an address."""
    opened = sorted(_opened.copy().items())  # without the lock, which is held while another database is connected to
    return [PoolUse(purpose or "projects", *database.pool_counts()) for (at, purpose), database in opened if at == url]


def short_timeout_database(url: str, wait_seconds: float) -> PostgresDatabase:
    """Return a separate database for callers that cannot wait long, neither for locks nor for the server."""
    patience = max(_MIN_CONNECT_SECONDS, round(wait_seconds))
    return PostgresDatabase(
        make_conninfo(url, connect_timeout=patience), migrations=SCHEMA_STEPS, wait_seconds=wait_seconds
    )
