"""Schemas of the project file and the library file, as lists of migrations. New migrations are appended."""

from __future__ import annotations

from deltos.store.migration import Migration
from deltos.store.sqlite.apis import APIS_002, APIS_003
from deltos.store.sqlite.apis import MIGRATIONS as APIS
from deltos.store.sqlite.code import CODE_001, CODE_002, CODE_003, CODE_004
from deltos.store.sqlite.docs import DOCS_001, DOCS_003, DOCS_004, DOCS_005, DOCS_007, DOCS_008, DOCS_009
from deltos.store.sqlite.docs_index import DOCS_002, DOCS_006
from deltos.store.sqlite.graph import GRAPH_001, GRAPH_002
from deltos.store.sqlite.history import HISTORY_001, HISTORY_002
from deltos.store.sqlite.project import PROJECT_001, PROJECT_002, PROJECT_003
from deltos.store.sqlite.vectors import API_VECTORS, DOCS_VECTORS

STOPPED_001 = Migration(
    "stopped-001",
    """
    CREATE TABLE stopped_reading (
        digest BLOB PRIMARY KEY,
        reason TEXT NOT NULL,
        at REAL NOT NULL
    ) WITHOUT ROWID;
    """,
)
PROJECT = (
    PROJECT_001,
    CODE_001,
    GRAPH_001,
    PROJECT_002,
    HISTORY_001,
    CODE_002,
    HISTORY_002,
    PROJECT_003,
    GRAPH_002,
    CODE_003,
    CODE_004,
)
LIBRARY = (
    DOCS_001,
    DOCS_002,
    *APIS,
    DOCS_VECTORS,
    STOPPED_001,
    APIS_002,
    API_VECTORS,
    DOCS_003,
    DOCS_004,
    DOCS_005,
    DOCS_006,
    DOCS_007,
    DOCS_008,
    APIS_003,
    DOCS_009,
)
