"""Storage engines. Each test in this folder runs with every engine; tests of a single engine are in its subfolder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from deltos.store.postgres.calls import PostgresCalls
from deltos.store.postgres.database import PostgresDatabase
from deltos.store.postgres.library import PostgresLibrary
from deltos.store.postgres.memory.reader import PostgresObservations
from deltos.store.postgres.migrations import SCHEMA_STEPS
from deltos.store.postgres.projects import PostgresProjects
from deltos.store.postgres.shared_databases import shared_database
from deltos.store.postgres.tokens import PostgresTokens
from deltos.store.postgres.workspaces import PostgresWorkspaces
from deltos.store.sqlite.calls import SqliteCalls
from deltos.store.sqlite.library import SqliteLibrary
from deltos.store.sqlite.memory.reader import SqliteObservations
from deltos.store.sqlite.projects import SqliteProjects
from deltos.store.sqlite.tokens import SqliteTokens
from deltos.store.sqlite.workspaces import SqliteWorkspaces
from tests.postgres_server import empty_database

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deltos.store.calls import CallRecords
    from deltos.store.library import LibraryStore
    from deltos.store.observations import Observations
    from deltos.store.project import ProjectStores
    from deltos.store.tokens import TokenRecords
    from deltos.store.workspaces import WorkspaceRecords


class Engine(Protocol):
    """Storage engine. A store that is opened twice has two connections to the same data, as in two processes."""

    def library(self) -> LibraryStore: ...
    def observations(self) -> Observations: ...
    def projects(self) -> ProjectStores: ...
    def tokens(self) -> TokenRecords: ...
    def calls(self) -> CallRecords: ...
    def workspaces(self) -> WorkspaceRecords: ...


class SqliteEngine:
    """SQLite files in a folder."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def library(self) -> LibraryStore:
        return SqliteLibrary(self._home / "library.db", now=lambda: 1.0)

    def observations(self) -> Observations:
        return SqliteObservations(self._home / "memory.db")

    def projects(self) -> ProjectStores:
        return SqliteProjects(self._home)

    def tokens(self) -> TokenRecords:
        return SqliteTokens(self._home)

    def calls(self) -> CallRecords:
        return SqliteCalls(self._home)

    def workspaces(self) -> WorkspaceRecords:
        return SqliteWorkspaces(self._home)


_opened: list[PostgresDatabase] = []


class PostgresEngine:
    """An empty database on a real PostgreSQL server."""

    def __init__(self, _home: Path) -> None:
        for database in _opened:
            database.close()
        _opened.clear()
        self.url = empty_database()

    def library(self) -> LibraryStore:
        return PostgresLibrary(self._database(), now=lambda: 1.0)

    def observations(self) -> Observations:
        return PostgresObservations(self._database())

    def projects(self) -> ProjectStores:
        return PostgresProjects(lambda: shared_database(self.url))

    def tokens(self) -> TokenRecords:
        return PostgresTokens(self._database())

    def calls(self) -> CallRecords:
        return PostgresCalls(self._database())

    def workspaces(self) -> WorkspaceRecords:
        database = self._database()
        return PostgresWorkspaces(lambda: database)

    def _database(self) -> PostgresDatabase:
        _opened.append(PostgresDatabase(self.url, migrations=SCHEMA_STEPS))
        return _opened[-1]


ENGINES: dict[str, Callable[[Path], Engine]] = {"sqlite": SqliteEngine, "postgres": PostgresEngine}
