"""List the files of a project, walking the folders again only if something has changed.

The index stores the stamps (sizes and times) of all files and folders. If all folder stamps and the other inputs of the
listing are unchanged, checking the stamps of known files gives the same result as `walk`.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.errors import FileRefused
from deltos.files import status_below
from deltos.workspace.excludes import repository_excludes, user_excludes
from deltos.workspace.ignores import GIT_IGNORE_FILE, IGNORE_FILE
from deltos.workspace.repository import find_repository
from deltos.workspace.walk import Stamp, WalkedFiles, folder_mtime_ns, is_newer, is_racy, stamp_of, walk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from deltos.store.project import ProjectFiles, SeenStamp

_IGNORE_FILES = (f"/{GIT_IGNORE_FILE}", f"/{IGNORE_FILE}")


def list_files(root: Path, store: ProjectFiles, *, stamps_are_current: bool = False) -> WalkedFiles:
    """Return every file of the project that may be indexed.

    The stored stamps are compared with the disk unless `stamps_are_current` is true.
    """
    listing_inputs = _listing_inputs(root)
    before = _cached_listing(root, store, listing_inputs, stamps_are_current=stamps_are_current)
    return before or replace(walk(root), listing_inputs=listing_inputs)


def listing_state(found: WalkedFiles) -> str:
    """Return the state that the next listing needs, or an empty string if the next listing must walk the folders."""
    if not found.listing_inputs or found.repositories:
        return ""
    return json.dumps([found.listing_inputs, found.refused])


def _listing_inputs(root: Path) -> str:
    """Return a digest of everything outside the project's files that affects the listing.

    Return an empty string if these inputs cannot be checked cheaply or reliably.
    """
    repository = find_repository(root)
    if repository is None:
        return "none"
    if repository.top != root:
        return ""
    try:
        index = status_below(repository.git_folder, "index")
    except FileRefused:
        return ""
    if is_racy(index.st_mtime_ns, time.time_ns()):
        return ""
    rules = (user_excludes().digest, repository_excludes(repository).digest)
    return " ".join((*rules, str(index.st_mtime_ns), str(index.st_size)))


def _cached_listing(
    root: Path, store: ProjectFiles, listing_inputs: str, *, stamps_are_current: bool
) -> WalkedFiles | None:
    """Return the previous listing with current stamps, or None if a new listing might differ."""
    stored = store.meta("listing")
    known, refused = json.loads(stored) if stored else ("", {})
    if not listing_inputs or known != listing_inputs:
        return None
    folders = store.folder_times()
    stamps = store.stamps()
    files = {path: Stamp(seen.size, seen.mtime_ns) for path, seen in sorted(stamps.items())}
    if not stamps_are_current and not _update_stamps(files, stamps, folders, f"{root}/"):
        return None
    return WalkedFiles(files, folders, Counter(refused), set(), store.meta("notes").splitlines(), listing_inputs)


def _update_stamps(
    files: dict[str, Stamp], stamps: Mapping[str, SeenStamp], folders: Mapping[str, int], prefix: str
) -> bool:
    """Replace the stamps in `files` with current stamps. Return False if a folder or an ignore file has changed."""
    if any(folder_mtime_ns(prefix + path) != mtime_ns for path, mtime_ns in folders.items()):
        return False
    for path, before in files.items():
        try:
            status = os.lstat(prefix + path)
        except OSError:
            return False
        now = stamp_of(status)
        is_changed = now != before or is_newer(now.ctime_ns, stamps[path].seen_at_ns)
        if is_changed and f"/{path}".endswith(_IGNORE_FILES):
            return False
        if not stat.S_ISREG(status.st_mode):
            return False
        files[path] = now
    return True
