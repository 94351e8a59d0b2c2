"""The SQLite files behind stores, for tests that look at bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.sqlite.memory.reader import SqliteObservations
from deltos.store.sqlite.project import SqliteProject, SqliteProjectWriter

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from deltos.domains.memory.memory import Memory
    from deltos.store.project import ProjectWriter
    from deltos.store.sqlite.database import SqliteDatabase
    from deltos.workspace.project_index import ProjectIndex


def memory_database(memory: Memory) -> SqliteDatabase:
    """The file that memory is kept in, opened."""
    assert isinstance(memory.store, SqliteObservations)
    return memory.store.database


def memory_file(memory: Memory) -> Path:
    """The file that memory is kept in."""
    return memory_database(memory).path


def project_database(index: ProjectIndex) -> SqliteDatabase:
    """The file that a project is kept in, opened."""
    assert isinstance(index.store, SqliteProject)
    return index.store.database


def connection_of(writer: ProjectWriter) -> sqlite3.Connection:
    """The connection behind a transaction."""
    assert isinstance(writer, SqliteProjectWriter)
    return writer.connection
