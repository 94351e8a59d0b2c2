"""The library file: one SQLite database with all documentation and API descriptions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from deltos.store.sqlite.apis import SqliteApis
from deltos.store.sqlite.database import SqliteDatabase
from deltos.store.sqlite.docs import SqliteSources
from deltos.store.sqlite.docs_index import SqlitePages
from deltos.store.sqlite.docs_search import SqlitePassages
from deltos.store.sqlite.migrations import LIBRARY
from deltos.store.sqlite.statements import SqliteStatements
from deltos.store.sqlite.vectors import API_UNITS, DOCS_CHUNKS, SqliteVectors
from deltos.store.unreadable_content import UnreadableContent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILE_NAME = "library.db"


class SqliteLibrary:
    """Implementation of `store.library.LibraryStore` in one file, which is created and migrated when it is opened."""

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time) -> None:
        self.database = SqliteDatabase(path, LIBRARY)
        self.sources = SqliteSources(self.database)
        self.pages = SqlitePages(self.database)
        self.passages = SqlitePassages(self.database)
        self.vectors = SqliteVectors(self.database, DOCS_CHUNKS)
        self.apis = SqliteApis(self.database)
        self.api_vectors = SqliteVectors(self.database, API_UNITS)
        self.unreadable_content = UnreadableContent(SqliteStatements(self.database), now)

    def close(self) -> None:
        self.database.close()
