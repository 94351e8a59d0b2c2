"""Search for indexed projects that import the queried project but were not included in the query.

If such projects exist, an answer is not complete. Only imports are compared; references are not resolved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from deltos.domains.graph.cross_project import ProjectHandle
from deltos.errors import DeltosError
from deltos.text.counts import first_names
from deltos.workspace.project_selection import related_projects

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from deltos.domains.graph.cross_project import CrossProjectIndex
    from deltos.workspace.project_selection import RelatedProject
    from deltos.workspace.projects import Projects

_MAX_LISTED_PROJECTS = 3


@dataclass(frozen=True, slots=True)
class Importers:
    """Projects that import the queried project but were not searched, and the workspaces that contain them."""

    names: tuple[str, ...] = ()
    workspace_names: tuple[str, ...] = ()

    @property
    def names_text(self) -> str:
        """The names of the first projects and the number of further projects, as text."""
        return first_names(self.names, _MAX_LISTED_PROJECTS)

    def note(self, imported: str) -> str:
        """Return a note on how to include the projects that were not searched, or an empty string."""
        if not self.names:
            return ""
        is_one = len(self.names) == 1
        them = "it" if is_one else "them"
        how = f"Pass project_path={','.join(self.workspace_names)}" if self.workspace_names else "Omit project_path"
        text = (
            f"Note: {self.names_text} {'imports' if is_one else 'import'} {imported} and {'was' if is_one else 'were'}"
        )
        return f"{text} not searched. {how} to include {them}."


class ImporterFinder:
    """Finder of importing projects among the projects that are related to a query. It does not update their indexes."""

    def __init__(
        self,
        projects: Projects,
        cross_project: CrossProjectIndex,
        asked: Collection[Path],
        session_roots: Sequence[Path] = (),
    ) -> None:
        self._projects = projects
        self._cross_project = cross_project
        self._asked = frozenset(asked)
        self._session_roots = session_roots

    def importers_of(self, provider: ProjectHandle, paths: Collection[str]) -> Importers:
        """Return the projects that directly or indirectly import a package of `provider` containing one of `paths`."""
        numbers = self._cross_project.importers(provider, [member for _, member in self._other_projects], paths)
        found = [self._other_projects[number][0] for number in numbers]
        workspace_names = dict.fromkeys(each.shared_workspace for each in found if each.shared_workspace)
        return Importers(tuple(each.name for each in found), tuple(workspace_names))

    @cached_property
    def _other_projects(self) -> list[tuple[RelatedProject, ProjectHandle]]:
        found = []
        for each in related_projects(self._projects, self._asked, self._session_roots):
            try:
                found.append((each, ProjectHandle.from_store(each.name, each.index.store, each.index.workers)))
            except DeltosError:  # This error is reported when the project itself is queried.
                continue
        return found
