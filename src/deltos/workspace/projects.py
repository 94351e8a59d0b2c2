"""All projects that this process works with: each opened once, found by folder or by identity."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import check_folder, told
from deltos.errors import BadArgument, BadRequest, NoSuchFolder
from deltos.model import Project
from deltos.workspace.identity import find_root, folder_number, identify
from deltos.workspace.project_index import CHANGES_SECONDS, FIRST_INDEX_SECONDS, ProjectIndex
from deltos.workspace.registry import root_of_project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.isolated.process import Workers
    from deltos.store.jobs import Jobs
    from deltos.store.project import ProjectStores
    from deltos.store.workspaces import WorkspaceRecords
    from deltos.workspace.indexer import Follower, Indexer


class Projects:
    """Opens project indexes on demand and keeps them."""

    def __init__(
        self,
        stores: ProjectStores,
        indexers: Sequence[Indexer],
        *,
        first_index_seconds: float = FIRST_INDEX_SECONDS,
        changes_seconds: float = CHANGES_SECONDS,
        workers: Workers | None = None,
        follower: Follower | None = None,
        kept: Sequence[Indexer] = (),
        workspaces: WorkspaceRecords | None = None,
        jobs: Jobs | None = None,
    ) -> None:
        """An index that `kept` indexers made is not made anew: they go on with it in place of the others.

        With `jobs`, what is to be indexed is queued for workers.
        """
        self._jobs = jobs
        self.stores = stores
        self.workspaces = workspaces
        self._indexers = tuple(indexers)
        self._kept = tuple(kept)
        self._first_index_seconds = first_index_seconds
        self._changes_seconds = changes_seconds
        self._workers = workers
        self._follower = follower
        self._open: dict[Path, ProjectIndex] = {}
        self._numbers: dict[Path, tuple[int, int] | None] = {}
        self._lock = threading.Lock()

    def at(self, folder: Path) -> ProjectIndex:
        """The index of the project in `folder`."""
        check_folder(folder)
        with self._lock:
            if (number := self._numbers.get(folder)) and number == folder_number(folder):
                return self._open[folder]  # a real path already, as it was when it was opened
        root = self._root(folder)
        with self._lock:
            if root not in self._open:
                self._open[root] = self._index(root)
            self._numbers[root] = folder_number(root)
            return self._open[root]

    def find(self, project_id: str, default: Path) -> ProjectIndex:
        """The project with this id, or the default one when the id is empty or its own."""
        if not project_id or self.has_id(default, project_id):
            return self.at(default)
        return self.at(root_of_project(self.stores.known(), project_id, self.is_there))

    def is_there(self, root: Path) -> bool:
        """Whether an indexed project can be shown: its checkout is here, or its contents are kept."""
        return self.stores.keep_contents or root.is_dir()

    def _root(self, folder: Path) -> Path:
        """The folder's real path; where it is not here, that of an indexed project whose contents are kept."""
        try:
            return find_root(folder)
        except NoSuchFolder:
            if self.stores.keep_contents and (folder in self._open or self._known(folder)):
                return folder
            raise

    def _known(self, root: Path) -> Project | None:
        """The project that was indexed at a folder."""
        found = (Project(index.root, index.project_id) for index in self.stores.known() if index.root == root)
        return next(found, None)

    def close(self) -> None:
        """Stop all background work and close all files."""
        with self._lock:
            for index in self._open.values():
                index.close()
            self._open.clear()
            self._numbers.clear()
        if self.workspaces is not None:
            self.workspaces.close()

    def _index(self, root: Path) -> ProjectIndex:
        if root in (Path(root.anchor), Path.home()):
            raise BadArgument(
                f"{told(str(root))} is not a project",
                hint="Call set_working_directory with the folder of your repository.",
            )
        return ProjectIndex(
            self.identified(root),
            self.stores.store_of(root),
            self._indexers,
            first_index_seconds=self._first_index_seconds,
            changes_seconds=self._changes_seconds,
            workers=self._workers,
            follower=self._follower,
            kept=self._kept,
            jobs=self._jobs,
        )

    def identified(self, folder: Path) -> Project:
        """Who the project at a folder is; the index tells where its checkout is elsewhere."""
        try:
            return identify(folder)
        except NoSuchFolder:
            if self.stores.keep_contents and (known := self._known(folder)):
                return known
            raise

    def has_id(self, folder: Path, project_id: str) -> bool:
        """Whether the project at a folder that the call may read has this id."""
        try:
            check_folder(folder)
            root = self._root(folder)
        except BadRequest:
            return False
        index = self._open.get(root)
        project = index.project if index else self.identified(root)
        return project.project_id == project_id
