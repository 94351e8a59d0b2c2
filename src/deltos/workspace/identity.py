"""Identity of a project, shared by all worktrees and clones of the project."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deltos.confinement import visible_location
from deltos.errors import FileRefused, NoSuchFolder, NotFound
from deltos.files import FileTree
from deltos.model import Project
from deltos.workspace.repository import find_repository

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltos.workspace.repository import Repository

# A single letter before the colon is a drive letter, not a host.
_SCP_REMOTE = r"^(?:[^@/\s]+@)?([\w.-]{2,}):(?!//)(.+)$"
_INITIAL_COMMIT = r"^0{40,64} ([0-9a-f]{40,64}) .*\tcommit \(initial\)"
_MAX_LOG_LINE_BYTES = 4_096
_MAX_CACHED_ROOT_COMMITS = 256
_ROOT_COMMIT_CACHE: dict[tuple[Path, tuple[object, ...]], str] = {}  # keys are the git folder and the head stamp


def find_root(folder: Path) -> Path:
    """Return the real path of a folder. Raise NoSuchFolder if it does not exist."""
    try:
        root = Path(os.path.realpath(folder))
        if root.is_dir():
            return root
        exists = root.exists()
    except (OSError, ValueError):  # the path is too long or contains a NUL character
        exists = False
    if exists:
        raise NoSuchFolder(
            f"Not a folder: {visible_location(str(folder))}", hint="Give the folder that contains the file."
        )
    raise NoSuchFolder(
        f"No such folder: {visible_location(str(folder)[:200])}", hint="Give the path of an existing folder."
    )


def folder_identity(folder: Path) -> tuple[int, int] | None:
    """Return the device and inode of a folder, or None if it does not exist."""
    try:
        status = os.stat(folder)  # noqa: PTH116 (several times faster than Path.stat)
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def identify(folder: Path, *, may_start_git: bool = True) -> Project:
    """Return the project whose root is `folder`: its real path and its identity.

    If `may_start_git` is false, a project whose identity can be determined only by git is identified by its path.
    """
    root = find_root(folder)
    return Project(root=root, project_id=_project_id(root, may_start_git=may_start_git))


def path_in_checkout(folder: Path) -> str:
    """Return the path of a folder relative to the top of its checkout, or an empty string for the top folder."""
    inside = folder.relative_to(_checkout_top(folder)).as_posix()
    return "" if inside == "." else inside


def _checkout_top(folder: Path) -> Path:
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)


def memory_scopes(roots: Iterable[Path]) -> dict[str, frozenset[str]]:
    """Return, by project id, the paths of the given folders in their checkouts, which select observations of memory."""
    found: dict[str, frozenset[str]] = {}
    for root in roots:
        with suppress(NotFound):  # a deleted project has no observations to show
            project = identify(root)
            # Hooks do not start git, so they may have identified the same folder by its path instead.
            paths = (project.root, _checkout_top(project.root))
            for project_id in {project.project_id, *map(path_identity, paths)}:
                found[project_id] = found.get(project_id, frozenset()) | {path_in_checkout(project.root)}
    return found


def normalise_remote(url: str) -> str | None:
    """Return a remote URL as `host/path` without credentials, port or `.git`, or None if the URL is a local path."""
    if "://" in url:
        host, path = _host_and_path(url)
    elif match := re.match(_SCP_REMOTE, url.strip()):
        host, path = match[1], match[2]
    else:
        return None
    path = path.strip("/ ").removesuffix(".git").strip("/")
    return f"{host}/{path}".lower() if host and path else None


def _host_and_path(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url.strip())
    except ValueError:  # the text is not a valid URL
        return "", ""
    return ("", "") if parts.scheme == "file" else (parts.hostname or "", parts.path)


def _project_id(root: Path, *, may_start_git: bool) -> str:
    repository = find_repository(root)
    if repository is not None:
        for url in _remote_urls(repository):
            if identity := normalise_remote(url):
                return identity
        if commit := _first_logged_commit(repository) or (_root_commit(repository) if may_start_git else ""):
            return f"git:{commit}"
    return path_identity(root)


def path_identity(root: Path) -> str:
    """Return an identity derived from the path of a folder, which need not exist."""
    from deltos.digest import sha256  # deferred import: few projects need it

    return f"path:{sha256(str(root).encode('utf-8', 'surrogateescape')).hexdigest()[:20]}"


def _remote_urls(repository: Repository) -> list[str]:
    """Return the URLs of all git remotes, with `origin` first."""
    urls: dict[str, str] = {}
    for setting in repository.settings():
        if setting.section == "remote" and setting.subsection and setting.key == "url":
            urls.setdefault(setting.subsection, setting.value)
    return [urls[name] for name in sorted(urls, key=lambda name: name != "origin")]


def _first_logged_commit(repository: Repository) -> str:
    """Return the root commit from git's log file of HEAD, or an empty string if the file does not contain it."""
    try:
        with FileTree(repository.common) as tree:
            log = tree.read_head("logs/HEAD", _MAX_LOG_LINE_BYTES)
    except FileRefused:
        return ""
    match = re.match(_INITIAL_COMMIT, log.decode("utf-8", "replace").partition("\n")[0])
    return match[1] if match else ""


def _root_commit(repository: Repository) -> str:
    """Return the id of the oldest root commit, or an empty string. The result is cached per checked-out commit."""
    from deltos.workspace.commits import head_stamp  # deferred import: hooks do not need it

    key = (repository.common, head_stamp(repository))
    if key not in _ROOT_COMMIT_CACHE and (commit := _find_root_commit(repository)):
        if len(_ROOT_COMMIT_CACHE) >= _MAX_CACHED_ROOT_COMMITS:
            _ROOT_COMMIT_CACHE.clear()
        _ROOT_COMMIT_CACHE[key] = commit
    return _ROOT_COMMIT_CACHE.get(key, "")


def _find_root_commit(repository: Repository) -> str:
    from deltos.workspace.git import GitFailed, open_git  # deferred import: hooks do not need it

    try:
        with open_git(repository) as git:
            commits = git.run("rev-list", "--max-parents=0", "HEAD").split()
    except GitFailed:
        return ""
    return commits[-1].decode("ascii") if commits else ""
