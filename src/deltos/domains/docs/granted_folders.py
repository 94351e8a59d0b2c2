"""Determine the local folders from which an agent may add documentation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import is_confined
from deltos.workspace.repository import find_repository

if TYPE_CHECKING:
    from deltos.tool import Session


def granted_folders(session: Session, configured: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the folders that the user granted: session roots, selected git checkouts, and configured folders.

    Calls over a network may only use folders of the server, so the folders selected in these calls need not be git
    checkouts.
    """
    granted = [folder for folder in session.granted_roots() if not _contains_home(folder)]
    chosen = [folder for folder in session.project_roots() if is_confined() or _is_checkout(folder)]
    return tuple(dict.fromkeys((*granted, *chosen, *configured)))


def _is_checkout(folder: Path) -> bool:
    """Whether a folder is inside a git repository that does not contain the home folder."""
    repository = find_repository(folder.resolve())
    return repository is not None and not _contains_home(repository.top)


def _contains_home(folder: Path) -> bool:
    """Whether a folder is or contains the home folder."""
    return Path.home().resolve().is_relative_to(folder.resolve())
