"""Display names of memory projects, and project lookup by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deltos.workspace.project_names import shortest_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.store.observations import ProjectRow


def display_names(rows: Sequence[ProjectRow]) -> dict[str, str]:
    """Return the display name of each project by id: its folder name, or the id if its folder is unknown."""
    names = shortest_names(Path(row.root) for row in rows if row.root)
    tops = sorted(rows, key=lambda row: row.folder, reverse=True)  # the top folder is last and so overrides subfolders
    return {row.project_id: names[Path(row.root)] if row.root else row.project_id for row in tops}


def matching_projects(word: str, rows: Sequence[ProjectRow]) -> list[str]:
    """Return the ids of the projects whose id, display name, path or folder name is `word`, in this order of
    precedence."""
    names = shortest_names(Path(row.root) for row in rows if row.root)
    folder = str(Path(word).absolute()) if word and "\0" not in word else ""
    meanings: tuple[Callable[[ProjectRow], bool], ...] = (
        lambda row: row.project_id == word,
        lambda row: bool(row.root) and names[Path(row.root)] == word,
        lambda row: bool(row.root) and row.root == folder,
        lambda row: bool(row.root) and Path(row.root).name == word,
    )
    found = (list(dict.fromkeys(row.project_id for row in rows if means(row))) for means in meanings)
    return next((ids for ids in found if ids), [])
