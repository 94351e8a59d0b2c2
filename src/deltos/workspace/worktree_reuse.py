"""Reuse of the index of one git worktree in another worktree of the same repository.

A new worktree starts with a copy of an existing worktree's index. On Btrfs, XFS and APFS, the two database files share
all equal pages on disk. git's own indexes show which files are equal in both worktrees. The first update reads only the
other files, and parses and resolves only changed files.
"""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.errors import FileRefused, StoreError
from deltos.store.project import SeenStamp
from deltos.workspace.git_index import is_current, read_index
from deltos.workspace.repository import WORKTREES_LISTED_AT, find_repository, work_trees, worktrees_listed_at

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.store.project import KnownIndex, ProjectStore, ProjectStores
    from deltos.workspace.repository import Repository


_MAX_CANDIDATES = 3  # maximum number of existing worktrees that are compared with a new worktree


def reuse_worktree_index(root: Path, stores: ProjectStores) -> None:
    """Copy the index of another worktree to a project that has no index.

    Clones of the same repository are not used, because only git's links prove that two folders belong together.
    """
    if stores.keeps_contents or stores.roots_with_store([root]):
        return
    repository = find_repository(root)
    if repository is None:
        return
    inside = root.relative_to(repository.top)
    candidates = []
    for index in _indexes_of(repository, stores):
        other = find_repository(index.root)
        if other and other.common == repository.common and index.root == other.top / inside:
            candidates.append(other)
    # The main worktree comes first; the others keep their order.
    candidates.sort(key=lambda other: other.git_folder != other.common)
    prefix = "".join(f"{step}/" for step in inside.parts)
    with suppress(FileRefused):
        comparisons = [_Comparison(prefix, other, repository) for other in candidates[:_MAX_CANDIDATES]]
        chosen = max(comparisons, key=lambda comparison: comparison.count_equal(stores), default=None)
        if chosen is not None and stores.copy_store(chosen.root, root):
            with closing(stores.store_of(root)) as store:
                chosen.update_stamps(store)


def free_removed_worktrees(root: Path, store: ProjectStore, stores: ProjectStores) -> None:
    """Remove the indexes of removed worktrees, if git changed its list of worktrees since the last update."""
    if stores.keeps_contents or store.meta(WORKTREES_LISTED_AT) == worktrees_listed_at(root):
        return
    if repository := find_repository(root):
        tops = {repository.common.parent, *work_trees(repository.common)}
        for index in _indexes_of(repository, stores):
            if not index.root.exists() and not any(index.root.is_relative_to(top) for top in tops):
                with suppress(StoreError):  # fails if another process uses the index
                    stores.remove(index.root)


def _indexes_of(repository: Repository, stores: ProjectStores) -> list[KnownIndex]:
    """Return the indexes of all worktrees of a repository, most recently synchronised first."""
    return [index for index in stores.indexed_projects() if index.repository == str(repository.common)]


class _Comparison:
    """Comparison of two worktrees of a repository through git's indexes.

    A file is equal if git recorded the same object in both worktrees, and the size and times in the copied index equal
    the values that git recorded in the other worktree.
    """

    def __init__(self, prefix: str, other: Repository, repository: Repository) -> None:
        self._theirs, self._ours = read_index(other), read_index(repository)
        self._before, self._after = (
            {file.path.removeprefix(prefix): file for file in index.files if file.path.startswith(prefix)}
            for index in (self._theirs, self._ours)
        )
        self.root = other.top / prefix

    def count_equal(self, stores: ProjectStores) -> int:
        """Return the number of indexed files of the other worktree that are equal in this worktree."""
        with closing(stores.store_of(self.root)) as store:
            return sum(self._new_stamp(path, stamp) is not None for path, stamp in store.stamps().items())

    def update_stamps(self, store: ProjectStore) -> None:
        """Update the stamps of identical files in a copied index, so that they are not read again."""
        with store.writing() as writer:
            for file in store.files().values():
                if stamp := self._new_stamp(file.path, file.stamp):
                    writer.touch_file(file.id, stamp)
            for skipped in store.skipped_files().values():
                if stamp := self._new_stamp(skipped.path, skipped.stamp):
                    writer.set_skipped(replace(skipped, stamp=stamp))

    def _new_stamp(self, path: str, stamp: SeenStamp) -> SeenStamp | None:
        """Return the size and times of a file in this worktree, or None if the file may differ from the other worktree.

        The modification time of git's index is stored as `seen_at_ns`, so that later changes are detected.
        """
        old, new = self._before.get(path), self._after.get(path)
        if old is None or new is None or (old.object_id, old.size) != (new.object_id, new.size):
            return None
        is_equal = is_current(old, stamp.size, stamp.mtime_ns, self._theirs)
        if not is_equal or self._ours.is_split or new.has_stages:
            return None
        return SeenStamp(stamp.size, new.mtime_ns, self._ours.mtime_ns)
