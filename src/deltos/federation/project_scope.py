"""Decide which documentation sources and API descriptions belong to other projects than the current ones.

Websites and folders outside all projects are visible everywhere. Files in a project's folder belong to that project and
to the project in which they were added. A package belongs to the projects that install or require it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.apis.source import is_address
from deltos.errors import BadRequest
from deltos.federation.selected_projects import selected
from deltos.workspace.project_selection import EVERYTHING
from deltos.workspace.repository import find_repository

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.federation.model import Domains, SearchRequest
    from deltos.store.documents import SourceRow

_ALL_MEMORIES = "all"
_MAX_NAMES = 3


def requested_roots(domains: Domains, asked: SearchRequest) -> Sequence[Path]:
    """Return the root folders of the projects to search; empty if the search covers all projects."""
    if asked.project_id in (EVERYTHING, _ALL_MEMORIES):
        return ()
    try:
        if asked.project_id:
            return [each.index.project.root for each in selected(domains.projects, asked).repositories]
    except BadRequest:  # a project known only to memory
        pass
    return asked.every_root


def note_unsearched(names: Sequence[str]) -> tuple[str, ...]:
    """Return a note that names the sources skipped because they belong to other projects."""
    if not names:
        return ()
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return (f"Not searched, as of other projects: {', '.join(names[:_MAX_NAMES])}{more} (project_id=* does)",)


@dataclass
class ProjectScope:
    """Finds sources and APIs that belong to other projects than those at `roots`; without roots, there are none."""

    domains: Domains
    roots: Sequence[Path]

    def sources_elsewhere(self) -> list[SourceRow]:
        """Return documentation sources in other projects' folders, and packages that only other projects have."""
        local = [
            source
            for source in (self.domains.docs.library.sources() if self._roots else ())
            if source.kind in ("folder", "git") and "://" not in source.url
        ]
        foreign = [source for source in local if self._is_foreign(source.url, source.project_root)]
        return foreign + self.domains.docs.library.foreign_packages(self._roots)

    def apis_elsewhere(self) -> dict[int, str]:
        """Return ids and names of APIs read from files of other projects."""
        rows = [row for row in self.domains.apis.library.rows() if not is_address(row.source)] if self._roots else []
        added = {source.id: source.project_root for source in self.domains.docs.library.sources()} if rows else {}
        return {row.id: row.name for row in rows if self._is_foreign(row.source, added.get(row.source_name, ""))}

    @cached_property
    def _roots(self) -> list[Path]:
        return [root.resolve() for root in self.roots]

    @cached_property
    def _indexed(self) -> list[Path]:
        """Roots of all indexed projects, inner ones first."""
        return sorted((index.root for index in self.domains.projects.stores.known()), key=lambda root: -len(root.parts))

    def _is_foreign(self, location: str, owner_root: str) -> bool:
        """Whether a path lies in another project and was added in none of the current ones."""
        path = Path(location)
        if any(path.is_relative_to(place) or (owner_root and Path(owner_root) == place) for place in self._roots):
            return False
        project_root = self._project_around(path)
        return project_root is not None and not any(place.is_relative_to(project_root) for place in self._roots)

    def _project_around(self, path: Path) -> Path | None:
        """Return the repository that contains a path, or the innermost indexed project."""
        repository = find_repository(path if path.is_dir() else path.parent)
        if repository is not None:
            return repository.top
        return next((root for root in self._indexed if path.is_relative_to(root)), None)
