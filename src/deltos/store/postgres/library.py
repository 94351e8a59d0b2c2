"""The library in PostgreSQL: documentation and API descriptions, shared by all servers of a database."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from deltos.store.migration import Migration
from deltos.store.postgres.apis import APIS_001, PostgresApis
from deltos.store.postgres.docs import DOCS_SOURCES_001, DOCS_SOURCES_002, PostgresSources
from deltos.store.postgres.docs_index import DOCS_INDEX_001, DOCS_INDEX_002, PostgresPages
from deltos.store.postgres.docs_search import PostgresPassages
from deltos.store.postgres.statements import PostgresStatements
from deltos.store.postgres.vectors import API_UNITS, DOCS_CHUNKS, LIBRARY_VECTORS_001, PostgresVectors
from deltos.store.unreadable_content import UnreadableContent

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.store.postgres.database import PostgresDatabase

STOPPED_001 = Migration(
    "stopped-001",
    """
    CREATE TABLE stopped_reading (
        digest bytea PRIMARY KEY,
        reason text NOT NULL,
        at double precision NOT NULL
    );
    CREATE INDEX stopped_reading_by_time ON stopped_reading (at);
    """,
)
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
    """Implementation of `store.library.LibraryStore`. Closing it does not close the database."""

    def __init__(self, database: PostgresDatabase, *, now: Callable[[], float] = time.time) -> None:
        self.database = database
        self.sources = PostgresSources(database)
        self.pages = PostgresPages(database)
        self.passages = PostgresPassages(database)
        self.vectors = PostgresVectors(database, DOCS_CHUNKS)
        self.apis = PostgresApis(database)
        self.api_vectors = PostgresVectors(database, API_UNITS)
        self.unreadable_content = UnreadableContent(PostgresStatements(database), now)

    def close(self) -> None:
        pass
