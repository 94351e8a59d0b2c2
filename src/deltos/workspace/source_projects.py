"""Visibility of documentation sources and APIs: only in the projects that added the source, or in all projects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deltos.workspace.repository import find_repository

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

SHARED = "*"
"""Entry in a source's list of projects that makes the source visible to every project."""


def project_of(folder: Path) -> str:
    """Return the project that contains a folder: the main work tree of its repository, or the folder itself."""
    folder = folder.resolve()
    repository = find_repository(folder)
    if repository is None:
        return folder.as_posix()
    is_linked = repository.common != repository.git_folder and repository.common.name == ".git"
    return (repository.common.parent if is_linked else repository.top).as_posix()


def is_visible_to(projects: Collection[str], roots: Iterable[str]) -> bool:
    """Whether a project at one of `roots` can see a source that the given projects added.

    A project also sees the sources of its parent folders, such as a monorepo, and of its subfolders. If `roots` is
    empty, every source is visible.
    """
    roots = tuple(roots)
    if not roots or SHARED in projects:
        return True
    return any(
        Path(root).is_relative_to(project) or Path(project).is_relative_to(root)
        for root in roots
        for project in projects
    )
