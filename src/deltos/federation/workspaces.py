"""Which projects a search over everything is about, and how their results are told from those of the session's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.workspace.registry import exact_name
from deltos.workspace.selection import select

if TYPE_CHECKING:
    from deltos.federation.model import SearchRequest
    from deltos.workspace.projects import Projects
    from deltos.workspace.selection import Selection

_NO_PROJECT = ("all", "personal")  # what memory calls them: neither is a project with code


def selected(projects: Projects, asked: SearchRequest) -> Selection:
    """The projects whose code and commits a question is about: the same for every provider."""
    if not asked.chosen:
        named = "" if asked.project_id in _NO_PROJECT else asked.project_id
        asked.chosen.append(select(projects, named, asked.every_root))
    return asked.chosen[0]


def foreign_id(selection: Selection, asked: SearchRequest) -> str:
    """What ids of the only selected project begin with; nothing where it is the session's."""
    index = selection.repositories[0].index
    if index.project.root == asked.root.resolve():
        return ""
    is_plain = asked.project_id and not selection.name and asked.project_id not in _NO_PROJECT
    return asked.project_id if is_plain else exact_name(index.project.root)
