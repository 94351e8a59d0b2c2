"""Registry of open project indexes. Each index is opened once and can be found by folder or by project id."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import check_folder, may_add_project, visible_location
from deltos.errors import BadArgument, BadRequest, Forbidden, NoSuchFolder
from deltos.model import Project
from deltos.workspace.identity import find_root, folder_identity, identify
from deltos.workspace.project_index import CHANGES_SECONDS, FIRST_INDEX_SECONDS, ProjectIndex
from deltos.workspace.project_lookup import find_project_root
from deltos.workspace.worktree_reuse import free_removed_worktrees, reuse_worktree_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.jobs import Jobs
    from deltos.store.project import ProjectStores
    from deltos.store.workspaces import WorkspaceRecords
    from deltos.workspace.indexer import Follower, Indexer


class Projects:
    """Cache of project indexes, which are opened when they are first requested."""

    def __init__(
        self,
        stores: ProjectStores,
        indexers: Sequence[Indexer],
        *,
        first_index_seconds: float = FIRST_INDEX_SECONDS,
        changes_seconds: float = CHANGES_SECONDS,
        workers: ProcessPool | None = None,
        follower: Follower | None = None,
        previous_indexers: Sequence[Indexer] = (),
        workspaces: WorkspaceRecords | None = None,
        jobs: Jobs | None = None,
    ) -> None:
        """Create an empty registry. If `jobs` is given, indexing is queued for workers.

        Indexes created by `previous_indexers` are updated instead of rebuilt.
        """
        self._jobs = jobs
        self.stores = stores
        self.workspaces = workspaces
        self._indexers = tuple(indexers)
        self._previous_indexers = tuple(previous_indexers)
        self._first_index_seconds = first_index_seconds
        self._changes_seconds = changes_seconds
        self._workers = workers
        self._follower = follower
        self._open: dict[Path, ProjectIndex] = {}
        self._folder_identities: dict[Path, tuple[int, int] | None] = {}
        self._lock = threading.Lock()

    def index_of(self, folder: Path) -> ProjectIndex:
        """Return the index of the project in `folder`, and open it if necessary."""
        check_folder(folder)
        with self._lock:
            if (identity := self._folder_identities.get(folder)) and identity == folder_identity(folder):
                # The folder itself was not replaced by a link, so `folder` is still a real path.
                return self._open[folder]
        root = self._real_root(folder)
        with self._lock:
            if root not in self._open:
                self._open[root] = self._open_index(root)
            self._folder_identities[root] = folder_identity(root)
            return self._open[root]

    def find(self, project_id: str, default: Path) -> ProjectIndex:
        """Return the index of the project with this id, or of the default project if the id is empty."""
        if not project_id or self.has_id(default, project_id):
            return self.index_of(default)
        return self.index_of(find_project_root(self.stores.indexed_projects(), project_id, self.is_available))

    def is_available(self, root: Path) -> bool:
        """Whether an indexed project can be read, because its checkout exists or the index stores the file contents."""
        return self.stores.keeps_contents or root.is_dir()

    def _real_root(self, folder: Path) -> Path:
        """Return the real path of a folder.

        The folder may be missing if the index stores the contents of the project.
        """
        try:
            return find_root(folder)
        except NoSuchFolder:
            if self.stores.keeps_contents and (folder in self._open or self._find_indexed(folder)):
                return folder
            raise

    def _find_indexed(self, root: Path) -> Project | None:
        """Return the indexed project at a folder, or None if it is not indexed."""
        found = (
            Project(index.root, index.project_id) for index in self.stores.indexed_projects() if index.root == root
        )
        return next(found, None)

    def close(self) -> None:
        """Stop all background work and close all stores."""
        with self._lock:
            for index in self._open.values():
                index.close()
            self._open.clear()
            self._folder_identities.clear()
        if self.workspaces is not None:
            self.workspaces.close()

    def _open_index(self, root: Path) -> ProjectIndex:
        if root in (Path(root.anchor), Path.home()):
            raise BadArgument(
                f"{visible_location(str(root))} is not a project",
                hint="Call set_working_directory with the folder of your repository.",
            )
        if not may_add_project(root) and not self.stores.roots_with_store([root]):
            raise Forbidden(
                f"{visible_location(str(root))} is not an indexed project, and a reader cannot add projects",
                hint="Pass an indexed project, or ask the administrator of this server to index this folder.",
            )
        reuse_worktree_index(root, self.stores)
        store = self.stores.store_of(root)
        free_removed_worktrees(root, store, self.stores)
        return ProjectIndex(
            self.identify_project(root),
            store,
            self._indexers,
            first_index_seconds=self._first_index_seconds,
            changes_seconds=self._changes_seconds,
            workers=self._workers,
            follower=self._follower,
            previous_indexers=self._previous_indexers,
            jobs=self._jobs,
        )

    def identify_project(self, folder: Path) -> Project:
        """Return the project at a folder.

        If the checkout is missing, the identity of the project comes from the index.
        """
        try:
            return identify(folder)
        except NoSuchFolder:
            if self.stores.keeps_contents and (known := self._find_indexed(folder)):
                return known
            raise

    def has_id(self, folder: Path, project_id: str) -> bool:
        """Whether the project at a folder that can be read has this id."""
        try:
            check_folder(folder)
            root = self._real_root(folder)
        except BadRequest:
            return False
        index = self._open.get(root)
        project = index.project if index else self.identify_project(root)
        return project.project_id == project_id
