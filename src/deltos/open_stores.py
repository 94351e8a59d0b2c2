"""Opens the stores of a data folder: the one place that chooses an engine. Each is imported when it is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from deltos.store.calls import CallRecords
    from deltos.store.library import LibraryStore
    from deltos.store.observations import Observations
    from deltos.store.project import ProjectStores
    from deltos.store.sqlite.foreign import ForeignTables
    from deltos.store.tokens import TokenRecords
    from deltos.store.workspaces import WorkspaceRecords


def open_projects(home: Path) -> ProjectStores:
    """The stores of all projects."""
    from deltos.store.sqlite.projects import SqliteProjects

    return SqliteProjects(home)


def open_library(home: Path) -> LibraryStore:
    """Documentation and API descriptions."""
    from deltos.store.sqlite.library import FILE_NAME, SqliteLibrary

    return SqliteLibrary(home / FILE_NAME)


def has_library(home: Path) -> bool:
    """Whether anything was ever kept in the library."""
    from deltos.store.sqlite.library import FILE_NAME

    return (home / FILE_NAME).exists()


def open_observations(home: Path, *, busy_timeout_seconds: float | None = None) -> Observations:
    """What memory keeps; another writer is waited for so long, or as long as elsewhere."""
    from deltos.store.sqlite.database import BUSY_TIMEOUT_SECONDS
    from deltos.store.sqlite.memory.reader import SqliteObservations

    # Hooks, which alone are in a hurry, have nothing to read where nothing can be kept.
    return SqliteObservations(
        home / "memory.db",
        busy_timeout_seconds=busy_timeout_seconds or BUSY_TIMEOUT_SECONDS,
        reads_a_copy=busy_timeout_seconds is None,
    )


def open_foreign_tables(path: Path) -> AbstractContextManager[ForeignTables]:
    """The tables of a database that another program keeps."""
    from deltos.store.sqlite.foreign import foreign_tables

    return foreign_tables(path)


def open_tokens(home: Path) -> TokenRecords:
    """Access tokens."""
    from deltos.store.sqlite.tokens import SqliteTokens

    return SqliteTokens(home)


def open_calls(home: Path) -> CallRecords:
    """The ring of the last calls of tools."""
    from deltos.store.sqlite.calls import SqliteCalls

    return SqliteCalls(home)


def open_workspaces(home: Path) -> WorkspaceRecords:
    """Named sets of projects."""
    from deltos.store.sqlite.workspaces import SqliteWorkspaces

    return SqliteWorkspaces(home)
