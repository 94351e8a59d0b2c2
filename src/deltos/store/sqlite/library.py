"""The library file: one SQLite database for all documentation and API descriptions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from deltos.store.sqlite.apis import SqliteApis
from deltos.store.sqlite.database import Database
from deltos.store.sqlite.docs import SqliteSources
from deltos.store.sqlite.docs_index import SqlitePages
from deltos.store.sqlite.docs_search import SqlitePassages
from deltos.store.sqlite.migrations import LIBRARY
from deltos.store.sqlite.stopped import SqliteStopped
from deltos.store.sqlite.vectors import API_UNITS, DOCS_CHUNKS, SqliteVectors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILE_NAME = "library.db"


class SqliteLibrary:
    """Implements `store.library.LibraryStore`; created or brought up to date when needed."""

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time) -> None:
        self.database = Database(path, LIBRARY)
        self.sources = SqliteSources(self.database)
        self.pages = SqlitePages(self.database)
        self.passages = SqlitePassages(self.database)
        self.vectors = SqliteVectors(self.database, DOCS_CHUNKS)
        self.apis = SqliteApis(self.database)
        self.api_vectors = SqliteVectors(self.database, API_UNITS)
        self.stopped = SqliteStopped(self.database, now)

    def close(self) -> None:
        self.database.close()
