"""The engines that keep our data. Each runs every test of this folder; what only one promises is in its own folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from deltos.store.sqlite.library import SqliteLibrary
from deltos.store.sqlite.memory.reader import SqliteObservations
from deltos.store.sqlite.projects import SqliteProjects
from deltos.store.sqlite.tokens import SqliteTokens
from deltos.store.sqlite.workspaces import SqliteWorkspaces

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.store.library import LibraryStore
    from deltos.store.observations import Observations
    from deltos.store.project import ProjectStores
    from deltos.store.tokens import TokenRecords
    from deltos.store.workspaces import WorkspaceRecords


class Engine(Protocol):
    """Opens stores; what was opened twice is the same store, as two processes have it."""

    def library(self) -> LibraryStore: ...
    def observations(self) -> Observations: ...
    def projects(self) -> ProjectStores: ...
    def tokens(self) -> TokenRecords: ...
    def workspaces(self) -> WorkspaceRecords: ...


class SqliteEngine:
    """Files in a folder."""

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

    def workspaces(self) -> WorkspaceRecords:
        return SqliteWorkspaces(self._home)


ENGINES = {"sqlite": SqliteEngine}
