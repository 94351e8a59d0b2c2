"""Which folder a project id means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.confinement import may_read
from deltos.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.store.project import KnownIndex


def root_of_project(indexes: Sequence[KnownIndex], project_id: str) -> Path:
    """The folder that a project id means: of its worktrees and clones, the one indexed last. A name will do."""
    known = [index for index in indexes if may_read(index.root)]
    for index in known:
        if index.project_id == project_id and index.root.is_dir():
            return index.root
    named = [index.root for index in known if index.root.name == project_id and index.root.is_dir()]
    if len(named) == 1:
        return named[0]
    ids = sorted({index.project_id for index in known})
    raise NotFound(
        f"No indexed project has the id '{project_id[:200]}'",
        hint=f"Known: {', '.join(ids[:10])}." if ids else "Call index_repository first.",
    )
