"""Which project of memory a word means, and what people call it: an id is for programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deltos.workspace.names import names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.store.observations import ProjectRow


def names_of_projects(rows: Sequence[ProjectRow]) -> dict[str, str]:
    """What people call each project: the name of its folder, or its id where memory knows no folder of it."""
    names = names_of(Path(row.root) for row in rows if row.root)
    tops = sorted(rows, key=lambda row: row.folder, reverse=True)  # the top folder is told last, and stays
    return {row.project_id: names[Path(row.root)] if row.root else row.project_id for row in tops}


def projects_meant(word: str, rows: Sequence[ProjectRow]) -> list[str]:
    """The ids of the projects that a word means: an id, a name as people are told it, a folder or its name."""
    names = names_of(Path(row.root) for row in rows if row.root)
    folder = str(Path(word).absolute()) if word and "\0" not in word else ""
    meanings: tuple[Callable[[ProjectRow], bool], ...] = (
        lambda row: row.project_id == word,
        lambda row: bool(row.root) and names[Path(row.root)] == word,
        lambda row: bool(row.root) and row.root == folder,
        lambda row: bool(row.root) and Path(row.root).name == word,
    )
    found = (list(dict.fromkeys(row.project_id for row in rows if means(row))) for means in meanings)
    return next((ids for ids in found if ids), [])
