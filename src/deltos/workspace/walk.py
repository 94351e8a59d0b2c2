"""Which files a project has: git's own answer where there is git, else a scan that honours .gitignore."""

from __future__ import annotations

import os
import stat
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.workspace.git import run_git
from deltos.workspace.ignores import IGNORE_FILE, GitIgnores, own_ignores

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Folders that hold other people's or generated code, ignored even where nothing says so.
FOREIGN_FOLDERS = frozenset(
    """.git .hg .svn .bzr node_modules bower_components __pycache__ .venv venv .tox .nox .mypy_cache
    .ruff_cache .pytest_cache .hypothesis .gradle .idea .vs .terraform .next .nuxt .svelte-kit .turbo
    .parcel-cache .eggs site-packages .bundle .dart_tool .stack-work .cabal-sandbox elm-stuff _build""".split()
)
_VENV_MARK = "pyvenv.cfg"
# What changed this shortly before we looked may change again without its stamp showing it.
RACY_NS = 50_000_000
COARSE_RACY_NS = 2_000_000_000  # where the file system keeps whole seconds only


@dataclass(frozen=True, slots=True)
class Stamp:
    """What `stat` says about a file; a different stamp means that it may have changed."""

    size: int
    mtime_ns: int


@dataclass(slots=True)
class Walk:
    """The files found, relative to the root, the folders where more may appear, and what was refused and why."""

    files: dict[str, Stamp] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=lambda: {"": 0})
    refused: Counter[str] = field(default_factory=Counter)


def walk(root: Path) -> Walk:
    """Every file of the project that may be indexed. Links are never followed: nothing outside the root is read."""
    started_ns = time.time_ns()
    found = _walk_by_git(root)
    if not found.files:  # no repository, or a folder that its repository ignores
        found = _scan(root)
    _leave_out_ignored(root, found)
    for folder in found.folders:
        found.folders[folder] = _folder_stamp(f"{root}/{folder}", started_ns)
    return found


def stamp(path: str | Path) -> Stamp | None:
    """The stamp of a regular file; None when it is gone or something else."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    return Stamp(status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def is_racy(mtime_ns: int, seen_at_ns: int) -> bool:
    """Whether something changed so shortly before it was looked at that its stamp proves nothing."""
    racy_ns = RACY_NS if mtime_ns % 1_000_000_000 else COARSE_RACY_NS
    return abs(seen_at_ns - mtime_ns) < racy_ns


def folder_mtime_ns(path: str) -> int:
    """When the folder's list of entries last changed; -1 when it is gone."""
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 (strings: this runs for every folder before every answer)
    except OSError:
        return -1


def _folder_stamp(path: str, started_ns: int) -> int:
    """A folder's time of change; 0, which never equals one, when files may have appeared since they were listed."""
    mtime_ns = folder_mtime_ns(path)
    is_recent = started_ns < mtime_ns <= time.time_ns() + RACY_NS
    return 0 if is_recent or is_racy(mtime_ns, started_ns) else mtime_ns


def _walk_by_git(root: Path) -> Walk:
    """Tracked and untracked-but-not-ignored files, those of submodules and nested repositories too."""
    found = Walk()
    repositories = [""]
    while repositories:
        inside = repositories.pop()
        for path in _listed_by_git(root / inside):
            is_folder = _add(root, found, inside + path)
            if is_folder and os.path.exists(f"{root}/{inside}{path}/.git"):  # noqa: PTH110 (strings: for every file)
                repositories.append(f"{inside}{path}".rstrip("/") + "/")
        for folder in _untracked_folders(root / inside):
            for path in (folder, *_subfolders(root / inside, folder)):
                _note_folder(found, inside + path)
    return found


def _listed_by_git(repository: Path) -> list[str]:
    output = run_git(repository, "ls-files", "-coz", "--exclude-standard") or b""
    paths = [os.fsdecode(entry) for entry in output.split(b"\0") if entry]
    venvs = tuple(path.removesuffix(_VENV_MARK) for path in paths if path.endswith(f"/{_VENV_MARK}"))
    return [path for path in paths if not path.startswith(venvs) and not _is_foreign(path)]


def _is_foreign(path: str) -> bool:
    return not FOREIGN_FOLDERS.isdisjoint(path.split("/")[:-1])


def _add(root: Path, found: Walk, path: str) -> bool:
    """Take in a file, or count why not; whether the path is a folder instead."""
    _note_folder(found, path.rpartition("/")[0])
    try:
        status = os.lstat(f"{root}/{path}")
    except (OSError, ValueError):
        return False  # listed by git but deleted on disk, or gone since it was listed
    if stat.S_ISDIR(status.st_mode):
        return True
    if stat.S_ISLNK(status.st_mode):
        found.refused["symlink"] += 1
    elif not stat.S_ISREG(status.st_mode):
        found.refused["not a file"] += 1
    elif not _is_unicode(path):
        found.refused["name is not unicode"] += 1
    else:
        found.files[path] = Stamp(status.st_size, status.st_mtime_ns)
    return False


def _is_unicode(path: str) -> bool:
    """Whether a name can be stored and shown."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _note_folder(found: Walk, folder: str) -> None:
    """Remember a folder and those above it; their stamps are taken at the end."""
    while folder not in found.folders and _is_unicode(folder):
        found.folders[folder] = 0
        folder = folder.rpartition("/")[0]


def _untracked_folders(repository: Path) -> list[str]:
    """Folders that git does not know but would list files of, once there are any."""
    output = run_git(repository, "ls-files", "-oz", "--directory", "--exclude-standard") or b""
    paths = [os.fsdecode(entry[:-1]) for entry in output.split(b"\0") if entry.endswith(b"/")]
    return [path for path in paths if not _is_foreign(f"{path}/")]


def _subfolders(root: Path, folder: str) -> Iterator[str]:
    pending = [folder]
    while pending:
        folder = pending.pop()
        for entry in _entries(f"{root}/{folder}") or ():
            if entry.is_dir(follow_symlinks=False) and not _is_foreign_folder(entry):
                pending.append(f"{folder}/{entry.name}")
                yield pending[-1]


def _scan(root: Path) -> Walk:
    """All files below `root` that no nested .gitignore excludes."""
    found = Walk()
    pending = [("", GitIgnores())]
    while pending:
        folder, ignores = pending.pop()
        entries = _entries(f"{root}/{folder}")
        if entries is None:
            found.refused["unreadable"] += 1
            continue
        _note_folder(found, folder)
        if any(entry.name == ".gitignore" for entry in entries):
            ignores = ignores.inside(root, folder)
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if ignores.exclude(path, is_folder=is_folder):
                continue
            if not is_folder:
                _add(root, found, path)
            elif not _is_foreign_folder(entry):
                pending.append((path, ignores))
    return found


def _entries(path: str) -> list[os.DirEntry[str]] | None:
    """What is in a folder, by name; None when it cannot be read."""
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return None


def _is_foreign_folder(entry: os.DirEntry[str]) -> bool:
    return entry.name in FOREIGN_FOLDERS or os.path.exists(f"{entry.path}/{_VENV_MARK}")  # noqa: PTH110


def _leave_out_ignored(root: Path, found: Walk) -> None:
    """Drop what .deltosignore files exclude; the one at the root counts even where git ignores it."""
    files = {IGNORE_FILE, *(path for path in found.files if path.endswith(f"/{IGNORE_FILE}"))}
    ignores = own_ignores(root, files)
    if ignores is not None:
        found.files = {path: stamp for path, stamp in found.files.items() if not ignores.match_file(path)}
