"""Access to the SQLite files of stores, for tests that check their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.sqlite.memory.reader import SqliteObservations
from deltos.store.sqlite.project import SqliteProject
from deltos.store.sqlite.rows import SqliteRows

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from deltos.domains.memory.core.memory import Memory
    from deltos.store.project_writer import ProjectWriter
    from deltos.store.sqlite.database import SqliteDatabase
    from deltos.workspace.project_index import ProjectIndex


def memory_database(memory: Memory) -> SqliteDatabase:
    """Open the memory database."""
    assert isinstance(memory.store, SqliteObservations)
    return memory.store.database


def memory_file(memory: Memory) -> Path:
    """Return the path of the memory database."""
    return memory_database(memory).path


def project_database(index: ProjectIndex) -> SqliteDatabase:
    """Open the database of a project's index."""
    assert isinstance(index.store, SqliteProject)
    return index.store.database


def connection_of(writer: ProjectWriter) -> sqlite3.Connection:
    """Return the connection of a write transaction."""
    assert isinstance(writer.graph.rows, SqliteRows)
    return writer.graph.rows.database.read()
