"""Reuse the index of one worktree in another worktree of the same repository.

A new worktree starts with a copy of an existing worktree's index. On Btrfs, XFS and APFS, both files share the pages
that are equal. git's indexes show which files are equal in both worktrees. The first update reads only the other files,
and parses and resolves only changed files.
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


def reuse_worktree_index(root: Path, stores: ProjectStores) -> None:
    """Copy another worktree's index to a project without a store.

    Clones of the same repository are not used, because only git's links prove that two folders belong together.
    """
    if stores.keeps_contents or stores.roots_with_store([root]):
        return
    repository = find_repository(root)
    if repository is None:
        return
    siblings = [index for index in stores.indexed_projects() if index.repository == str(repository.common)]
    inside = root.relative_to(repository.top)
    for index in siblings:
        other = find_repository(index.root)
        if other and other.common == repository.common and index.root == other.top / inside:
            if stores.copy_store(index.root, root):
                with closing(stores.store_of(root)) as store, suppress(FileRefused):
                    _update_stamps_of_equal_files(store, inside, other, repository)
            return


def free_removed_worktrees(root: Path, store: ProjectStore, stores: ProjectStores) -> None:
    """Remove the indexes of removed worktrees, if git changed its list of worktrees since the last update."""
    if stores.keeps_contents or store.meta(WORKTREES_LISTED_AT) == worktrees_listed_at(root):
        return
    if repository := find_repository(root):
        siblings = [index for index in stores.indexed_projects() if index.repository == str(repository.common)]
        _remove_outdated(siblings, repository, stores)


def _remove_outdated(siblings: list[KnownIndex], repository: Repository, stores: ProjectStores) -> None:
    """Remove the indexes of worktrees that no longer exist and that git no longer lists."""
    tops = {repository.common.parent, *work_trees(repository.common)}
    for index in siblings:
        if not index.root.exists() and not any(index.root.is_relative_to(top) for top in tops):
            with suppress(StoreError):  # another process uses the index
                stores.remove(index.root)


def _update_stamps_of_equal_files(store: ProjectStore, inside: Path, other: Repository, repository: Repository) -> None:
    """Replace the stamps of files that are equal in both worktrees, so that these files are not read again.

    A file is equal if git recorded the same object in both worktrees, and the indexed stamp equals git's stamp in the
    other worktree. The modification time of git's index is stored as `seen_at_ns`, so that later changes are detected.
    """
    prefix = "".join(f"{step}/" for step in inside.parts)
    theirs, ours = read_index(other), read_index(repository)
    before = {file.path: file for file in theirs.files}

    def new_stamp(path: str, stamp: SeenStamp) -> SeenStamp | None:
        old, new = before.get(prefix + path), after.get(prefix + path)
        if old is None or new is None or (old.object_id, old.size) != (new.object_id, new.size):
            return None
        is_equal = is_current(old, stamp.size, stamp.mtime_ns, theirs) and not ours.is_split and not new.has_stages
        return SeenStamp(stamp.size, new.mtime_ns, ours.mtime_ns) if is_equal else None

    after = {file.path: file for file in ours.files}
    with store.writing() as writer:
        for file in store.files().values():
            if stamp := new_stamp(file.path, file.stamp):
                writer.touch_file(file.id, stamp)
        for skipped in store.skipped_files().values():
            if stamp := new_stamp(skipped.path, skipped.stamp):
                writer.set_skipped(replace(skipped, stamp=stamp))
