"""The databases that this process has opened: a pool of connections for each address and purpose.

Stores of different purposes are read and written beside each other, as different files are: each has its transactions.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from psycopg.conninfo import make_conninfo

from deltos.store.pools import PoolUse
from deltos.store.postgres.database import Database
from deltos.store.postgres.migrations import SCHEMA_STEPS
from deltos.store.postgres.replicas import Replicas

if TYPE_CHECKING:
    from collections.abc import Sequence

_opened: dict[tuple[str, str], Database] = {}
_followed: dict[tuple[str, ...], Replicas] = {}
_lock = threading.Lock()
_LEAST_CONNECT_SECONDS = 2  # as PostgreSQL's own library has it


def shared_database(url: str, purpose: str = "") -> Database:
    """The database at an address, brought up to date when it is opened first; it stays open while the process runs."""
    with _lock:
        database = _opened.get((url, purpose))
        if database is None:
            database = _opened[url, purpose] = Database(url, migrations=SCHEMA_STEPS)
        return database


def shared_replicas(urls: Sequence[str]) -> Replicas | None:
    """The standbys at some addresses, one pool of connections for each of them; None where there are none."""
    with _lock:
        if urls and tuple(urls) not in _followed:
            _followed[tuple(urls)] = Replicas(urls)
        return _followed.get(tuple(urls))


def pools_of(url: str) -> list[PoolUse]:
    """How the connections of this process to an address are used."""
    opened = sorted(_opened.copy().items())  # without the lock: who opens another one may wait for its server
    return [PoolUse(purpose or "projects", *database.pool_counts()) for (at, purpose), database in opened if at == url]


def hurried_database(url: str, wait_seconds: float) -> Database:
    """A database of its own for somebody who has no time to wait, neither for others nor for the server."""
    patience = max(_LEAST_CONNECT_SECONDS, round(wait_seconds))
    return Database(make_conninfo(url, connect_timeout=patience), migrations=SCHEMA_STEPS, wait_seconds=wait_seconds)
