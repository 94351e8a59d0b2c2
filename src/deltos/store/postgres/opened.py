"""The databases that this process has opened: one pool of connections for each address, whichever stores use it."""

from __future__ import annotations

import threading

from deltos.store.postgres.database import Database
from deltos.store.postgres.migrations import SCHEMA_STEPS

_opened: dict[str, Database] = {}
_lock = threading.Lock()


def shared_database(url: str) -> Database:
    """The database at an address, brought up to date when it is opened first; it stays open while the process runs."""
    with _lock:
        database = _opened.get(url)
        if database is None:
            database = _opened[url] = Database(url, migrations=SCHEMA_STEPS)
        return database
