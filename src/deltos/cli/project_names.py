"""Find the projects that are named on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.workspace.project_names import shortest_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.store.project import KnownIndex


def find_indexes(word: str, indexes: Sequence[KnownIndex], here: Path) -> list[KnownIndex]:
    """Return the indexes selected by `word`: a name from `deltos status`, a folder, a folder name or an id."""
    names = shortest_names(index.root for index in indexes)
    try:
        folder = (here / word).resolve()
    except (OSError, RuntimeError, ValueError):  # the path is too long, or contains a symlink loop or a NUL byte
        folder = None
    meanings = (
        lambda index: names[index.root] == word,
        lambda index: index.root == folder,
        lambda index: index.root.name == word,
        lambda index: index.project_id == word,
    )
    return next((found for means in meanings if (found := [index for index in indexes if means(index)])), [])
