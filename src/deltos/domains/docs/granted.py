"""Which local folders an agent may add documentation from: those that the user gave it, none because it named it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import is_confined
from deltos.workspace.repository import find_repository

if TYPE_CHECKING:
    from deltos.tool import Session


def granted_folders(session: Session, configured: tuple[Path, ...]) -> tuple[Path, ...]:
    """The folders of the start, of the client and of DELTOS_DOCS_ROOTS, and those chosen since that are git checkouts.

    Over a network the folders of the server bound every call, so that a folder which was chosen needs no other reason.
    """
    given = [folder for folder in session.granted_roots() if not _holds_everything(folder)]
    chosen = [folder for folder in session.project_roots() if is_confined() or _is_checkout(folder)]
    return tuple(dict.fromkeys((*given, *chosen, *configured)))


def _is_checkout(folder: Path) -> bool:
    """Whether a folder lies in a git repository that is not the whole home folder, or more."""
    repository = find_repository(folder.resolve())
    return repository is not None and not _holds_everything(repository.top)


def _holds_everything(folder: Path) -> bool:
    """Whether a folder is the user's home or holds it: no project, but where all of them lie, and keys beside them."""
    return Path.home().resolve().is_relative_to(folder.resolve())
