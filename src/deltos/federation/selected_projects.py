"""Selection of the projects that a search covers, and the id prefix of results from other projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.workspace.project_lookup import unique_project_name
from deltos.workspace.project_selection import select

if TYPE_CHECKING:
    from deltos.federation.model import SearchRequest
    from deltos.workspace.project_selection import Selection
    from deltos.workspace.projects import Projects

_NO_PROJECT = ("all", "personal")  # memory's special scopes, which are not projects with code


def selected(projects: Projects, asked: SearchRequest) -> Selection:
    """Return the projects whose code and commits are searched, cached so that all providers use the same ones."""
    if not asked.chosen:
        named = "" if asked.project_id in _NO_PROJECT else asked.project_id
        asked.chosen.append(select(projects, named, asked.every_root))
    return asked.chosen[0]


def foreign_id(selection: Selection, asked: SearchRequest) -> str:
    """Return the id prefix for results of the selected project, or an empty string for the session's project."""
    index = selection.repositories[0].index
    if index.project.root == asked.root.resolve():
        return ""
    is_plain = asked.project_id and not selection.name and asked.project_id not in _NO_PROJECT
    return asked.project_id if is_plain else unique_project_name(index.project.root)
