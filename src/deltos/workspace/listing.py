"""Which files a project has, without listing its folders again where nothing shows that they have changed.

The index knows the stamps of all files and folders. As long as each folder has the one it had, and nothing else that
decides what is listed has changed, a look at the files alone gives what `walk` would find.
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


def list_files(root: Path, store: ProjectFiles, *, stamps_hold: bool = False) -> WalkedFiles:
    """Every file of the project that may be indexed, as it is now; `stamps_hold` if they were just compared."""
    surroundings = _surroundings(root)
    before = _listed_before(root, store, surroundings, stamps_hold=stamps_hold)
    return before or replace(walk(root), surroundings=surroundings)


def remembered(found: WalkedFiles) -> str:
    """What has to be stored beside stamps and notes for the next listing; empty where that has to look for itself."""
    if not found.surroundings or found.repositories:
        return ""
    return json.dumps([found.surroundings, found.refused])


def _surroundings(root: Path) -> str:
    """What decides beside the files of the project itself which of them are listed; empty where that is too much."""
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


def _listed_before(root: Path, store: ProjectFiles, surroundings: str, *, stamps_hold: bool) -> WalkedFiles | None:
    """The last listing with the files' stamps as they are now; None where another one might find something else."""
    stored = store.meta("listing")
    known, refused = json.loads(stored) if stored else ("", {})
    if not surroundings or known != surroundings:
        return None
    folders = store.folders()
    stamps = store.stamps()
    files = {path: Stamp(seen.size, seen.mtime_ns) for path, seen in sorted(stamps.items())}
    if not stamps_hold and not _bring_up_to_date(files, stamps, folders, f"{root}/"):
        return None
    return WalkedFiles(files, folders, Counter(refused), set(), store.meta("notes").splitlines(), surroundings)


def _bring_up_to_date(
    files: dict[str, Stamp], stamps: Mapping[str, SeenStamp], folders: Mapping[str, int], prefix: str
) -> bool:
    """Whether no folder and no ignore file has changed; if so, all files have their present stamps."""
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
