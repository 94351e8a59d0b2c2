"""Which files a project has: git's own answer where there is git, else a scan that honours .gitignore."""

from __future__ import annotations

import os
import stat
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pathspec

if TYPE_CHECKING:
    from collections.abc import Iterator

IGNORE_FILE = ".pinakesignore"
# Folders that hold other people's or generated code, ignored even where nothing says so.
FOREIGN_FOLDERS = frozenset(
    """.git .hg .svn .bzr node_modules bower_components __pycache__ .venv venv .tox .nox .mypy_cache .ruff_cache
    .pytest_cache .hypothesis .gradle .idea .vs .terraform .next .nuxt .svelte-kit .turbo .parcel-cache .eggs
    site-packages .bundle .dart_tool .stack-work .cabal-sandbox elm-stuff _build""".split()
)
_GIT_TIMEOUT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Stamp:
    """What `stat` says about a file; a different stamp means that it may have changed."""

    size: int
    mtime_ns: int


@dataclass(slots=True)
class Walk:
    """The files found, relative to the root, and how many entries were refused for which reason."""

    files: dict[str, Stamp] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)


def walk(root: Path) -> Walk:
    """Every file of the project that may be indexed. Links are never followed, so nothing outside the root is read."""
    found = Walk()
    listed = list(_listed_by_git(root))
    paths = listed or list(_scanned(root, found))
    ignored = _own_ignores(root, paths)
    prefix = f"{root}/"
    for path in paths:
        if ignored is None or not ignored.match_file(path):
            _add(found, prefix, path)
    _stamp_folders(found, root)
    return found


def stamp(path: str | Path) -> Stamp | None:
    """The stamp of a regular file; None when it is gone or something else."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    return Stamp(status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def folder_mtime_ns(path: str) -> int:
    """When the folder's list of entries last changed; 0 when it is gone."""
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 (strings: this runs for every folder before every answer)
    except OSError:
        return 0


def _add(found: Walk, prefix: str, path: str) -> None:
    try:
        status = os.lstat(prefix + path)
    except (OSError, ValueError):
        return  # listed by git but deleted on disk, or gone since the scan
    if stat.S_ISLNK(status.st_mode):
        found.refused["symlink"] += 1
    elif stat.S_ISREG(status.st_mode):
        found.files[path] = Stamp(status.st_size, status.st_mtime_ns)


def _stamp_folders(found: Walk, root: Path) -> None:
    """Remember when each folder's list of entries last changed, so that new files can be noticed cheaply."""
    names = {""}
    for path in found.files:
        folder = os.path.dirname(path)  # noqa: PTH120 (strings: this runs for every file)
        while folder not in names:
            names.add(folder)
            folder = os.path.dirname(folder)  # noqa: PTH120
    for name in names:
        if mtime_ns := folder_mtime_ns(f"{root}/{name}"):
            found.folders[name] = mtime_ns


def _listed_by_git(root: Path) -> Iterator[str]:
    """Tracked and untracked-but-not-ignored files; submodules and nested repositories are entered."""
    command = ["git", "-C", str(root), "-c", "core.quotepath=off", "ls-files", "-coz", "--exclude-standard", "--deduplicate"]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=_GIT_TIMEOUT_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    if done.returncode != 0:
        return
    for entry in done.stdout.split(b"\0"):
        path = os.fsdecode(entry)
        if not path or _is_foreign(path):
            continue
        if path.endswith("/") or (not entry.rpartition(b".")[1] and (root / path / ".git").exists()):
            nested = path.rstrip("/")
            if not (root / nested).is_symlink():
                yield from (f"{nested}/{inner}" for inner in _listed_by_git(root / nested))
        else:
            yield path


def _is_foreign(path: str) -> bool:
    return any(part in FOREIGN_FOLDERS for part in path.split("/")[:-1])


def _scanned(root: Path, found: Walk) -> Iterator[str]:
    """All files below `root` that no nested .gitignore excludes."""
    pending: list[tuple[str, tuple[tuple[str, pathspec.GitIgnoreSpec], ...]]] = [("", ())]
    while pending:
        folder, specs = pending.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError:
            found.refused["unreadable"] += 1
            continue
        if own := _read_ignores(root / folder / ".gitignore"):
            specs = (*specs, (folder, own))
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if (is_folder and _is_foreign_folder(entry)) or _excluded(path, specs, is_folder=is_folder):
                continue
            if is_folder:
                pending.append((path, specs))
            else:
                yield path


def _is_foreign_folder(entry: os.DirEntry[str]) -> bool:
    return entry.name in FOREIGN_FOLDERS or os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))  # noqa: PTH110, PTH118


def _excluded(path: str, specs: tuple[tuple[str, pathspec.GitIgnoreSpec], ...], *, is_folder: bool) -> bool:
    verdict = False
    for folder, spec in specs:  # deeper files come later and win
        relative = path[len(folder) + 1 :] if folder else path
        result = spec.check_file(relative + "/" if is_folder else relative)
        if result.include is not None:
            verdict = result.include
    return verdict


def _own_ignores(root: Path, paths: list[str]) -> pathspec.GitIgnoreSpec | None:
    """All .pinakesignore files as one specification, nested ones confined to their folder."""
    lines: list[str] = []
    for path in [p for p in paths if p == IGNORE_FILE or p.endswith("/" + IGNORE_FILE)] or [IGNORE_FILE]:
        folder = path[: -len(IGNORE_FILE)]
        lines += [_confine(line, folder) for line in _read_lines(root / path)]
    return pathspec.GitIgnoreSpec.from_lines(lines) if lines else None


def _confine(line: str, folder: str) -> str:
    text = line.strip()
    if not folder or not text or text.startswith("#"):
        return line
    negation, pattern = ("!", text[1:]) if text.startswith("!") else ("", text)
    anchored = "/" in pattern.rstrip("/")
    return f"{negation}/{folder}{'' if anchored else '**/'}{pattern.lstrip('/')}"


def _read_ignores(path: Path) -> pathspec.GitIgnoreSpec | None:
    lines = _read_lines(path)
    return pathspec.GitIgnoreSpec.from_lines(lines) if lines else None


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
