"""The library: documentation and API descriptions, which all that use one database share."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from deltos.store.postgres.apis import APIS_001, PostgresApis
from deltos.store.postgres.docs import DOCS_SOURCES_001, DOCS_SOURCES_002, PostgresSources
from deltos.store.postgres.docs_index import DOCS_INDEX_001, DOCS_INDEX_002, PostgresPages
from deltos.store.postgres.docs_search import PostgresPassages
from deltos.store.postgres.stopped import STOPPED_001, PostgresStopped
from deltos.store.postgres.vectors import API_UNITS, DOCS_CHUNKS, LIBRARY_VECTORS_001, PostgresVectors

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.store.postgres.database import Database

LIBRARY_STEPS = (
    DOCS_SOURCES_001,
    DOCS_INDEX_001,
    APIS_001,
    LIBRARY_VECTORS_001,
    STOPPED_001,
    DOCS_INDEX_002,
    DOCS_SOURCES_002,
)


class PostgresLibrary:
    """Implements `store.library.LibraryStore`. The database is the opener's: closing this leaves it open."""

    def __init__(self, database: Database, *, now: Callable[[], float] = time.time) -> None:
        self.database = database
        self.sources = PostgresSources(database)
        self.pages = PostgresPages(database)
        self.passages = PostgresPassages(database)
        self.vectors = PostgresVectors(database, DOCS_CHUNKS)
        self.apis = PostgresApis(database)
        self.api_vectors = PostgresVectors(database, API_UNITS)
        self.stopped = PostgresStopped(database, now)

    def close(self) -> None:
        pass
