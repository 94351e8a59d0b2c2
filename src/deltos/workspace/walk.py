"""List the files of a project as git would, by walking the disk without starting git.

Links are not followed, so only files below the root are listed, even in a hostile repository.
"""

from __future__ import annotations

import os
import stat
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from deltos.errors import FileRefused
from deltos.files import MISSING, TOO_DEEP, FileTree
from deltos.workspace.excludes import repository_excludes, user_excludes
from deltos.workspace.git_index import read_index
from deltos.workspace.ignores import (
    GIT_IGNORE_FILE,
    IGNORE_FILE,
    MAX_IGNORE_BYTES,
    NO_IGNORES,
    IgnoreRules,
    Ignores,
    rules_in,
)
from deltos.workspace.repository import find_repository, open_repository

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.files import FolderEntry
    from deltos.workspace.repository import Repository
    from deltos.workspace.source_tree import SourceTree

# Folders with third-party or generated code, which are skipped even without an ignore rule.
FOREIGN_FOLDERS = frozenset(
    """.git .hg .svn .bzr node_modules bower_components __pycache__ .venv venv .tox .nox .mypy_cache
    .ruff_cache .pytest_cache .hypothesis .gradle .idea .vs .terraform .next .nuxt .svelte-kit .turbo
    .parcel-cache .eggs site-packages .bundle .dart_tool .stack-work .cabal-sandbox elm-stuff _build""".split()
)
_VENV_FILE = "pyvenv.cfg"
_MAX_NOTES = 3
_MAX_SHOWN_CHARACTERS = 120
# Maximum time for listing a project. A project that takes longer is too large or hostile.
MAX_WALK_SECONDS = 120.0
# If a file is read within this time after a change, a further change may leave the same size and times.
RACY_NS = 50_000_000
COARSE_RACY_NS = 2_000_000_000  # same as RACY_NS, for file systems that store times in whole seconds


@dataclass(frozen=True, slots=True)
class Stamp:
    """Size and times of a file. A different stamp means that the content may have changed.

    `ctime_ns` is the change time, which programs cannot set back, or 0 if it is not known.
    """

    size: int
    mtime_ns: int
    ctime_ns: int = field(default=0, compare=False)


@dataclass(slots=True)
class WalkedFiles:
    """Files and folders below a root, keyed by relative path.

    `refused` contains the number of refused files by reason. `repositories` are the folders of submodules and nested
    repositories. `notes` report missing files. `listing_inputs` is a digest of everything else that affects the
    listing; see the module `listing`.
    """

    files: dict[str, Stamp] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    repositories: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    listing_inputs: str = ""


def walk(root: Path, *, max_seconds: float = MAX_WALK_SECONDS) -> WalkedFiles:
    """Return every file of the project that may be indexed, without following links."""
    with FileTree(root) as tree:
        return _Walker(root, tree, time.monotonic() + max_seconds).walk()


def stamp(tree: SourceTree, path: str) -> Stamp | None:
    """Return the stamp of a regular file, or None if it is missing, not a regular file, or below a linked folder."""
    try:
        status = tree.status(path)
    except FileRefused:
        return None
    return stamp_of(status) if stat.S_ISREG(status.st_mode) else None


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the size and times in an `lstat` result as a stamp."""
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def is_racy(mtime_ns: int, seen_at_ns: int) -> bool:
    """Whether a file was read so soon after a change that a further change may leave the same size and times."""
    racy_ns = RACY_NS if mtime_ns % 1_000_000_000 else COARSE_RACY_NS
    return abs(seen_at_ns - mtime_ns) < racy_ns


def is_newer(ctime_ns: int, seen_at_ns: int) -> bool:
    """Whether a file changed after it was read, even if its modification time was set back.

    A change time in the future is ignored, because the clock of another machine has set it.
    """
    return 0 < seen_at_ns < ctime_ns <= time.time_ns()


def folder_mtime_ns(path: str) -> int:
    """Return the time at which a folder's entries last changed, or -1 if the folder no longer exists."""
    try:
        status = os.lstat(path)
    except OSError:
        return -1
    return status.st_mtime_ns if stat.S_ISDIR(status.st_mode) else -1


class _TrackedTree:
    """A git work tree that the walk found. Its tracked files are listed even if ignore rules match them."""

    def __init__(self, repository: Repository, *, folder: str = "", above: str = "") -> None:
        self.repository = repository
        # Relative path from the root of the walk to the top of the work tree, empty if they are equal.
        self._folder = folder
        # Relative path from the top of the work tree to the root of the walk, empty if they are equal.
        self._above = above
        self.problem = ""

    def tracks(self, path: str) -> bool:
        """Whether `path` is a tracked file or a folder that contains a tracked file."""
        inside = path[len(self._folder) + 1 :] if self._folder else self._above + path
        return inside in self._tracked

    def tracks_any(self) -> bool:
        """Whether any file below the root of the walk is tracked."""
        return self._above.rstrip("/") in self._tracked

    @cached_property
    def _tracked(self) -> set[str]:
        """All tracked files and their folders. They are read on first use, because most checkouts do not need them."""
        try:
            found = {file.path for file in read_index(self.repository).files}
        except FileRefused as refused:
            self.problem = refused.reason
            return set()
        for path in tuple(found):
            folder = path.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return found


class _FolderToList(NamedTuple):
    """A folder to list. In an ignored folder, only tracked files are listed.

    `ignores` contains git's ignore rules, and `own_ignores` contains the rules in .deltosignore files.
    """

    folder: str
    checkout: _TrackedTree | None
    ignores: Ignores = NO_IGNORES
    own_ignores: Ignores = NO_IGNORES
    is_ignored: bool = False


class _Walker:
    """State of one walk, which processes each folder before its subfolders."""

    def __init__(self, root: Path, tree: FileTree, deadline: float) -> None:
        self._root = root
        self._tree = tree
        self._deadline = deadline
        self._found = WalkedFiles()
        self._checkouts: list[_TrackedTree] = []
        self._notes: list[str] = []

    def walk(self) -> WalkedFiles:
        """Return all files below the root."""
        found = self._found
        pending = [self._root_folder()]
        while pending:
            if time.monotonic() > self._deadline:
                self._notes.append("Note: listing the files timed out; some folders are missing.")
                break
            pending += self._list_folder(pending.pop())
        found.files = dict(sorted(found.files.items()))
        self._notes += [
            f"Note: git's index cannot be read ({checkout.problem}); tracked files that match .gitignore are missing."
            for checkout in self._checkouts
            if checkout.problem
        ]
        found.notes = self._notes[:_MAX_NOTES]
        if len(self._notes) > _MAX_NOTES:
            found.notes.append(f"Note: {len(self._notes) - _MAX_NOTES} more notes about listing the files.")
        return found

    def _root_folder(self) -> _FolderToList:
        """Return the root folder with the ignore rules of those parent folders that are in the same repository."""
        repository = find_repository(self._root)
        if repository is None:
            return _FolderToList("", None)
        steps = self._root.relative_to(repository.top).parts
        checkout = self._add_checkout(repository, above="".join(f"{step}/" for step in steps))
        ignores = NO_IGNORES.with_rules("", user_excludes()).with_rules("", repository_excludes(repository))
        is_ignored = False
        with FileTree(repository.top) as tree:
            for depth, step in enumerate(steps):
                folder = "".join(f"{above}/" for above in steps[:depth])
                ignores = ignores.with_rules(folder.rstrip("/"), self._read_rules(tree, folder + GIT_IGNORE_FILE))
                is_ignored = is_ignored or ignores.is_ignored(folder + step, is_folder=True)
        if is_ignored and not checkout.tracks_any():
            # The outer repository ignores the root, so the root is listed as if it had no outer repository.
            return _FolderToList("", checkout)
        return _FolderToList("", checkout, ignores.relative_to("/".join(steps)), is_ignored=is_ignored)

    def _add_checkout(self, repository: Repository, *, folder: str = "", above: str = "") -> _TrackedTree:
        self._checkouts.append(_TrackedTree(repository, folder=folder, above=above))
        return self._checkouts[-1]

    def _list_folder(self, here: _FolderToList) -> list[_FolderToList]:
        """Add the files of a folder, and return its subfolders in reverse order."""
        seen_at_ns = time.time_ns()
        folder = here.folder
        try:
            status, entries = self._tree.listing(folder)
        except FileRefused as refused:
            self._found.refused[TOO_DEEP if refused.reason == TOO_DEEP else "unreadable"] += 1
            return []
        names = [entry.name for entry in entries]
        if folder and _VENV_FILE in names:
            return []
        if _is_unicode(folder):
            self._found.folders[folder] = 0 if is_racy(status.st_mtime_ns, seen_at_ns) else status.st_mtime_ns
        here = self._with_folder_rules(here, names)
        possible_matches = here.ignores.may_match(folder, names) | here.own_ignores.may_match(folder, names)
        if here.is_ignored:
            possible_matches = set(names)
        return self._add_entries(here, entries, possible_matches)

    def _add_entries(
        self, here: _FolderToList, entries: Sequence[FolderEntry], possible_matches: set[str]
    ) -> list[_FolderToList]:
        """Add the files among the entries, count refused files, and return the subfolders that must be listed."""
        prefix = f"{here.folder}/" if here.folder else ""
        inner: list[_FolderToList] = []
        for entry in reversed(entries):
            name = entry.name
            path = prefix + name
            is_folder = entry.is_folder
            is_ignored = False
            if name in possible_matches:
                verdict = self._verdict(here, path, is_folder=is_folder)
                if verdict is None:
                    continue
                is_ignored = verdict
            if not is_folder:
                if name != ".git":  # the `.git` file of a submodule or a linked work tree is skipped
                    self._add_file(path, entry)
            elif name not in FOREIGN_FOLDERS:
                inner.append(_FolderToList(path, here.checkout, here.ignores, here.own_ignores, is_ignored))
        return inner

    def _verdict(self, here: _FolderToList, path: str, *, is_folder: bool) -> bool | None:
        """Return None if a path is skipped, True if it is listed only because it is tracked, and False otherwise."""
        is_ignored = here.is_ignored or here.ignores.is_ignored(path, is_folder=is_folder)
        if is_ignored and not (here.checkout and here.checkout.tracks(path)):
            return None
        return None if here.own_ignores.is_ignored(path, is_folder=is_folder) else is_ignored

    def _with_folder_rules(self, here: _FolderToList, names: Sequence[str]) -> _FolderToList:
        """Return the folder with the rules of its own ignore files.

        A nested repository ignores the rules of outer folders.
        """
        folder = here.folder
        if folder and ".git" in names and (repository := open_repository(self._root / folder)):
            self._found.repositories.add(folder)
            ignores = NO_IGNORES.with_rules(folder, user_excludes()).with_rules(folder, repository_excludes(repository))
            checkout = self._add_checkout(repository, folder=folder)
            here = _FolderToList(folder, checkout, ignores, here.own_ignores)
        prefix = f"{folder}/" if folder else ""
        if GIT_IGNORE_FILE in names:
            rules = self._read_rules(self._tree, prefix + GIT_IGNORE_FILE)
            here = here._replace(ignores=here.ignores.with_rules(folder, rules))
        if IGNORE_FILE in names:
            rules = self._read_rules(self._tree, prefix + IGNORE_FILE)
            here = here._replace(own_ignores=here.own_ignores.with_rules(folder, rules))
        return here

    def _read_rules(self, tree: FileTree, path: str) -> IgnoreRules:
        """Return the rules in an ignore file, and add notes about problems."""
        try:
            rules = rules_in(tree.read_head(path, MAX_IGNORE_BYTES + 1))
        except FileRefused as refused:
            if refused.reason != MISSING:
                self._notes.append(f"Note: {_printable_path(path)} was not read: {refused.reason}.")
            return IgnoreRules()
        self._notes += [f"Note: {_printable_path(path)} is too large: {note}." for note in rules.notes]
        return rules

    def _add_file(self, path: str, entry: FolderEntry) -> None:
        if not entry.is_file:
            self._found.refused["symlink" if entry.is_link else "not a file"] += 1
        elif not _is_unicode(path):
            self._found.refused["name is not unicode"] += 1
        else:
            self._found.files[path] = Stamp(entry.size_bytes, entry.mtime_ns, entry.ctime_ns)


def _printable_path(path: str) -> str:
    """Return the end of a path without unprintable characters, for use in a note."""
    return "".join(character if character.isprintable() else "?" for character in path[-_MAX_SHOWN_CHARACTERS:])


def _is_unicode(path: str) -> bool:
    """Whether a path is valid Unicode, so that it can be stored and displayed."""
    if path.isascii():
        return True
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
