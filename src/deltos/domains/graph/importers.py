"""Find indexed projects that import the queried project but were not queried themselves.

An answer about one project is not complete if there are any. Only imports are compared; references are not resolved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from deltos.domains.graph.cross_project import ProjectHandle
from deltos.errors import DeltosError
from deltos.workspace.project_selection import related_projects

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from deltos.domains.graph.cross_project import CrossProjectIndex
    from deltos.workspace.project_selection import RelatedProject
    from deltos.workspace.projects import Projects

_MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class Importers:
    """Projects that import another one and were not searched; `asked_by` are the workspaces that include them."""

    names: tuple[str, ...] = ()
    asked_by: tuple[str, ...] = ()

    @property
    def names_text(self) -> str:
        """The first names, and the number of the others."""
        more = f" and {len(self.names) - _MAX_NAMED} more" if len(self.names) > _MAX_NAMED else ""
        return ", ".join(self.names[:_MAX_NAMED]) + more

    def note(self, imported: str) -> str:
        """Return a note that these projects were not searched, and how to include them; empty if there are none."""
        if not self.names:
            return ""
        is_one = len(self.names) == 1
        them = "it" if is_one else "them"
        how = f"Pass project_path={','.join(self.asked_by)}" if self.asked_by else "Omit project_path"
        text = (
            f"Note: {self.names_text} {'imports' if is_one else 'import'} {imported} and {'was' if is_one else 'were'}"
        )
        return f"{text} not searched. {how} to include {them}."


class ImporterFinder:
    """Finds importers among the related projects of a query; their indexes are used as they are."""

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

    def importing(self, provider: ProjectHandle, paths: Collection[str]) -> Importers:
        """Return the projects that import a package of `provider` containing one of `paths`, directly or through
        others."""
        numbers = self._cross_project.importers(provider, [member for _, member in self._other_projects], paths)
        found = [self._other_projects[number][0] for number in numbers]
        asked_by = dict.fromkeys(each.shared_workspace for each in found if each.shared_workspace)
        return Importers(tuple(each.name for each in found), tuple(asked_by))

    @cached_property
    def _other_projects(self) -> list[tuple[RelatedProject, ProjectHandle]]:
        found = []
        for each in related_projects(self._projects, self._asked, self._session_roots):
            try:
                found.append((each, ProjectHandle.of(each.name, each.index.store, each.index.workers)))
            except DeltosError:  # a query of that project reports the error
                continue
        return found
