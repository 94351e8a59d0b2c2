"""Which files a project has: those that git would list, found on the disk itself. git is not started, and no link is
followed, so that whatever a repository says, only what lies below the root is listed."""

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

    from deltos.files import Entry
    from deltos.workspace.repository import Repository
    from deltos.workspace.sources import SourceTree

# Folders that hold other people's or generated code, ignored even where nothing says so.
FOREIGN_FOLDERS = frozenset(
    """.git .hg .svn .bzr node_modules bower_components __pycache__ .venv venv .tox .nox .mypy_cache
    .ruff_cache .pytest_cache .hypothesis .gradle .idea .vs .terraform .next .nuxt .svelte-kit .turbo
    .parcel-cache .eggs site-packages .bundle .dart_tool .stack-work .cabal-sandbox elm-stuff _build""".split()
)
_VENV_MARK = "pyvenv.cfg"
_MOST_NOTES = 3
_SHOWN_CHARACTERS = 120
# A folder that cannot be listed within this time is too large, or made to be.
MAX_WALK_SECONDS = 120.0
# What changed this shortly before we looked may change again without its stamp showing it.
RACY_NS = 50_000_000
COARSE_RACY_NS = 2_000_000_000  # where the file system keeps whole seconds only


@dataclass(frozen=True, slots=True)
class Stamp:
    """What `stat` says about a file; a different stamp means that it may have changed. `ctime_ns` is when anything
    about it last changed, which no program can set back; 0 where that is not known."""

    size: int
    mtime_ns: int
    ctime_ns: int = field(default=0, compare=False)


@dataclass(slots=True)
class WalkedFiles:
    """The files found, relative to the root, the folders where more may appear, and what was refused and why.

    `repositories` are the folders of submodules and nested repositories; the notes say what is missing, to a person;
    `surroundings` stands for what else decided what was found, for `listing`.
    """

    files: dict[str, Stamp] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    repositories: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    surroundings: str = ""


def walk(root: Path, *, max_seconds: float = MAX_WALK_SECONDS) -> WalkedFiles:
    """Every file of the project that may be indexed. Links are never followed: nothing outside the root is read."""
    with FileTree(root) as tree:
        return _Walker(root, tree, time.monotonic() + max_seconds).walk()


def stamp(tree: SourceTree, path: str) -> Stamp | None:
    """The stamp of a regular file; None when it is gone, something else, or only reached through a link."""
    try:
        status = tree.status(path)
    except FileRefused:
        return None
    return stamp_of(status) if stat.S_ISREG(status.st_mode) else None


def stamp_of(status: os.stat_result) -> Stamp:
    """The stamp of a file with this status."""
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def is_racy(mtime_ns: int, seen_at_ns: int) -> bool:
    """Whether something changed so shortly before it was looked at that its stamp proves nothing."""
    racy_ns = RACY_NS if mtime_ns % 1_000_000_000 else COARSE_RACY_NS
    return abs(seen_at_ns - mtime_ns) < racy_ns


def is_newer(ctime_ns: int, seen_at_ns: int) -> bool:
    """Whether something about a file changed after it was looked at, though its time of change may have been set back.

    A time that is still to come proves nothing: another machine's clock gave it.
    """
    return 0 < seen_at_ns < ctime_ns <= time.time_ns()


def folder_mtime_ns(path: str) -> int:
    """When the folder's list of entries last changed; -1 when it is gone or has become something else."""
    try:
        status = os.lstat(path)
    except OSError:
        return -1
    return status.st_mtime_ns if stat.S_ISDIR(status.st_mode) else -1


class _Checkout:
    """The work tree of a repository as far as the walk meets it: what is tracked there, whatever is ignored."""

    def __init__(self, repository: Repository, *, folder: str = "", above: str = "") -> None:
        self.repository = repository
        self._folder = folder  # where its top is, below the root of the walk;
        self._above = above  # or the way from its top down to the root
        self.problem = ""

    def tracks(self, path: str) -> bool:
        """Whether a path of the walk is tracked, or is a folder with something tracked in it."""
        inside = path[len(self._folder) + 1 :] if self._folder else self._above + path
        return inside in self._tracked

    def tracks_any(self) -> bool:
        """Whether anything below the root of the walk is tracked."""
        return self._above.rstrip("/") in self._tracked

    @cached_property
    def _tracked(self) -> set[str]:
        """All tracked files and their folders. Read when first asked: a clean checkout never needs it."""
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
    """A folder still to be listed, and what holds there. In an ignored one only what is tracked counts."""

    folder: str
    checkout: _Checkout | None
    ignores: Ignores = NO_IGNORES
    own_ignores: Ignores = NO_IGNORES
    is_ignored: bool = False


class _Walker:
    """One walk: takes folders one after the other, each before the folders in it."""

    def __init__(self, root: Path, tree: FileTree, deadline: float) -> None:
        self._root = root
        self._tree = tree
        self._deadline = deadline
        self._found = WalkedFiles()
        self._checkouts: list[_Checkout] = []
        self._notes: list[str] = []

    def walk(self) -> WalkedFiles:
        """List everything."""
        found = self._found
        pending = [self._start()]
        while pending:
            if time.monotonic() > self._deadline:
                self._notes.append("Note: listing the files took too long and was stopped; some folders are missing.")
                break
            pending += self._list(pending.pop())
        found.files = dict(sorted(found.files.items()))
        self._notes += [
            f"Note: git's index cannot be read ({checkout.problem}); tracked files that .gitignore names are missing."
            for checkout in self._checkouts
            if checkout.problem
        ]
        found.notes = self._notes[:_MOST_NOTES]
        if len(self._notes) > _MOST_NOTES:
            found.notes.append(f"Note: {len(self._notes) - _MOST_NOTES} more like these.")
        return found

    def _start(self) -> _FolderToList:
        """The root, and what holds there because of the folders above it in its repository."""
        repository = find_repository(self._root)
        if repository is None:
            return _FolderToList("", None)
        steps = self._root.relative_to(repository.top).parts
        checkout = self._checkout(repository, above="".join(f"{step}/" for step in steps))
        ignores = NO_IGNORES.inside("", user_excludes()).inside("", repository_excludes(repository))
        is_ignored = False
        with FileTree(repository.top) as tree:
            for depth, step in enumerate(steps):
                folder = "".join(f"{above}/" for above in steps[:depth])
                ignores = ignores.inside(folder.rstrip("/"), self._rules(tree, folder + GIT_IGNORE_FILE))
                is_ignored = is_ignored or ignores.exclude(folder + step, is_folder=True)
        if is_ignored and not checkout.tracks_any():
            return _FolderToList("", checkout)  # ignored by the repository around it: walked as a folder of its own
        return _FolderToList("", checkout, ignores.seen_from("/".join(steps)), is_ignored=is_ignored)

    def _checkout(self, repository: Repository, *, folder: str = "", above: str = "") -> _Checkout:
        self._checkouts.append(_Checkout(repository, folder=folder, above=above))
        return self._checkouts[-1]

    def _list(self, here: _FolderToList) -> list[_FolderToList]:
        """Take in the files of a folder; the folders in it, last one first."""
        seen_at_ns = time.time_ns()
        folder = here.folder
        try:
            status, entries = self._tree.listing(folder)
        except FileRefused as refused:
            self._found.refused[TOO_DEEP if refused.reason == TOO_DEEP else "unreadable"] += 1
            return []
        names = [entry.name for entry in entries]
        if folder and _VENV_MARK in names:
            return []
        if _is_unicode(folder):
            self._found.folders[folder] = 0 if is_racy(status.st_mtime_ns, seen_at_ns) else status.st_mtime_ns
        here = self._entered(here, names)
        spoken_of = here.ignores.may_match(folder, names) | here.own_ignores.may_match(folder, names)
        if here.is_ignored:
            spoken_of = set(names)
        return self._taken_in(here, entries, spoken_of)

    def _taken_in(self, here: _FolderToList, entries: Sequence[Entry], spoken_of: set[str]) -> list[_FolderToList]:
        """Add the files among the entries, or count why not; the folders to go on with."""
        prefix = f"{here.folder}/" if here.folder else ""
        inner: list[_FolderToList] = []
        for entry in reversed(entries):
            name = entry.name
            path = prefix + name
            is_folder = entry.is_folder
            is_ignored = False
            if name in spoken_of:
                verdict = self._verdict(here, path, is_folder=is_folder)
                if verdict is None:
                    continue
                is_ignored = verdict
            if not is_folder:
                if name != ".git":  # that of a submodule or of a linked work tree
                    self._add(path, entry)
            elif name not in FOREIGN_FOLDERS:
                inner.append(_FolderToList(path, here.checkout, here.ignores, here.own_ignores, is_ignored))
        return inner

    def _verdict(self, here: _FolderToList, path: str, *, is_folder: bool) -> bool | None:
        """Whether a path is ignored, and taken in all the same because it is tracked; None where it is left out."""
        is_ignored = here.is_ignored or here.ignores.exclude(path, is_folder=is_folder)
        if is_ignored and not (here.checkout and here.checkout.tracks(path)):
            return None
        return None if here.own_ignores.exclude(path, is_folder=is_folder) else is_ignored

    def _entered(self, here: _FolderToList, names: Sequence[str]) -> _FolderToList:
        """The folder with what its own files say: that it is a repository of its own, and what to ignore."""
        folder = here.folder
        if folder and ".git" in names and (repository := open_repository(self._root / folder)):
            self._found.repositories.add(folder)
            ignores = NO_IGNORES.inside(folder, user_excludes()).inside(folder, repository_excludes(repository))
            checkout = self._checkout(repository, folder=folder)
            here = _FolderToList(folder, checkout, ignores, here.own_ignores)
        prefix = f"{folder}/" if folder else ""
        if GIT_IGNORE_FILE in names:
            rules = self._rules(self._tree, prefix + GIT_IGNORE_FILE)
            here = here._replace(ignores=here.ignores.inside(folder, rules))
        if IGNORE_FILE in names:
            rules = self._rules(self._tree, prefix + IGNORE_FILE)
            here = here._replace(own_ignores=here.own_ignores.inside(folder, rules))
        return here

    def _rules(self, tree: FileTree, path: str) -> IgnoreRules:
        """What an ignore file says; what it could not say is noted."""
        try:
            rules = rules_in(tree.read_head(path, MAX_IGNORE_BYTES + 1))
        except FileRefused as refused:
            if refused.reason != MISSING:
                self._notes.append(f"Note: {_shown(path)} was not read: {refused.reason}.")
            return IgnoreRules()
        self._notes += [f"Note: {_shown(path)} is too large: {note}." for note in rules.notes]
        return rules

    def _add(self, path: str, entry: Entry) -> None:
        if not entry.is_file:
            self._found.refused["symlink" if entry.is_link else "not a file"] += 1
        elif not _is_unicode(path):
            self._found.refused["name is not unicode"] += 1
        else:
            self._found.files[path] = Stamp(entry.size_bytes, entry.mtime_ns, entry.ctime_ns)


def _shown(path: str) -> str:
    """A path as a note may name it."""
    return "".join(character if character.isprintable() else "?" for character in path[-_SHOWN_CHARACTERS:])


def _is_unicode(path: str) -> bool:
    """Whether a name can be stored and shown."""
    if path.isascii():
        return True
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
