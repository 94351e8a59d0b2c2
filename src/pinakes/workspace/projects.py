"""All projects that this process works with: each opened once, found by folder or by identity."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from pinakes.errors import BadArgument
from pinakes.store.sqlite import Database
from pinakes.workspace.identity import identify
from pinakes.workspace.project_index import ProjectIndex
from pinakes.workspace.registry import index_path, root_of_project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinakes.store.sqlite import Migration
    from pinakes.workspace.indexer import Indexer


class Projects:
    """Opens project indexes on demand and keeps them."""

    def __init__(self, home: Path, migrations: Sequence[Migration], indexers: Sequence[Indexer]) -> None:
        self.home = home
        self._migrations = tuple(migrations)
        self._indexers = tuple(indexers)
        self._open: dict[Path, ProjectIndex] = {}
        self._lock = threading.Lock()

    def at(self, folder: Path) -> ProjectIndex:
        """The index of the project in `folder`."""
        project = identify(folder)
        if project.root in (Path(project.root.anchor), Path.home()):
            raise BadArgument(
                f"{project.root} is not a project", hint="Call set_working_directory with the folder of your repository."
            )
        with self._lock:
            if project.root not in self._open:
                database = Database(index_path(self.home, project.root), self._migrations)
                self._open[project.root] = ProjectIndex(project, database, self._indexers)
            return self._open[project.root]

    def find(self, project_id: str, default: Path) -> ProjectIndex:
        """The project with this id, or the default one when the id is empty."""
        if not project_id:
            return self.at(default)
        return self.at(root_of_project(self.home, project_id, default.resolve()))

    def close(self) -> None:
        """Stop all background work and close all files."""
        with self._lock:
            for index in self._open.values():
                index.close()
            self._open.clear()
