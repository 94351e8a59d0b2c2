"""Select the projects to search for code and commits, and qualify the ids of results from other projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.workspace.project_lookup import unique_project_name
from deltos.workspace.project_selection import select

if TYPE_CHECKING:
    from deltos.federation.model import SearchRequest
    from deltos.workspace.project_selection import Selection
    from deltos.workspace.projects import Projects

_MEMORY_SCOPES = ("all", "personal")  # memory accepts these scopes, which are not projects with code


def select_projects(projects: Projects, asked: SearchRequest) -> Selection:
    """Return the projects to search for code and commits. The selection is cached in the request."""
    if not asked.chosen:
        named = "" if asked.project_id in _MEMORY_SCOPES else asked.project_id
        asked.chosen.append(select(projects, named, asked.all_roots))
    return asked.chosen[0]


def foreign_project_id(selection: Selection, asked: SearchRequest) -> str:
    """Return the project id to add to the ids of results, or an empty string for the session's project."""
    index = selection.repositories[0].index
    if index.project.root == asked.root.resolve():
        return ""
    is_plain = asked.project_id and not selection.name and asked.project_id not in _MEMORY_SCOPES
    return asked.project_id if is_plain else unique_project_name(index.project.root)
