"""The SQLite files behind stores, for tests that look at bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.sqlite.memory.reader import SqliteObservations

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.domains.memory.memory import Memory
    from deltos.store.sqlite.database import Database


def memory_database(memory: Memory) -> Database:
    """The file that memory is kept in, opened."""
    assert isinstance(memory.store, SqliteObservations)
    return memory.store.database


def memory_file(memory: Memory) -> Path:
    """The file that memory is kept in."""
    return memory_database(memory).path
