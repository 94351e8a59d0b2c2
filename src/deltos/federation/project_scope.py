"""Projects that a search covers, and a note about skipped sources of other projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.errors import BadRequest
from deltos.federation.selected_projects import select_projects
from deltos.workspace.project_selection import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.federation.model import Domains, SearchRequest

_ALL_MEMORIES = "all"
_MAX_NAMES = 3


def requested_roots(domains: Domains, asked: SearchRequest) -> tuple[Path, ...]:
    """Return the root folders of the projects to search, or an empty tuple for all projects."""
    if asked.project_id in (EVERYTHING, _ALL_MEMORIES):
        return ()
    try:
        if asked.project_id:
            return tuple(each.index.project.root for each in select_projects(domains.projects, asked).repositories)
    except BadRequest:  # the project exists only in memory
        pass
    return tuple(asked.all_roots)


def note_unsearched(names: Sequence[str]) -> tuple[str, ...]:
    """Return a note that lists skipped sources of other projects."""
    if not names:
        return ()
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return (f"Not searched (other projects): {', '.join(names[:_MAX_NAMES])}{more} (project_id=* searches them)",)
