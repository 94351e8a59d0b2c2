"""Which folder a project id means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.confinement import may_read
from deltos.errors import NotFound
from deltos.workspace.names import names_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.store.project import KnownIndex

_MOST_NAMED = 10


def root_of_project(indexes: Sequence[KnownIndex], project_id: str) -> Path:
    """The folder that a project id means: of its worktrees and clones, the one indexed last. A name will do."""
    known = [index for index in indexes if may_read(index.root)]
    for index in known:
        if index.project_id == project_id and index.root.is_dir():
            return index.root
    names = names_of(index.root for index in known)
    named = [root for root, name in names.items() if project_id in (name, root.name) and root.is_dir()]
    if len(named) == 1:
        return named[0]
    there = sorted(name for root, name in names.items() if root.is_dir())
    raise NotFound(
        f"No indexed project is called '{project_id[:200]}'",
        hint=f"Known: {', '.join(there[:_MOST_NAMED])}." if there else "Call index_repository first.",
    )
