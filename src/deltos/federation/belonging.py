"""Which documentation and API descriptions belong to other projects than the one that a question is asked in.

Websites and folders outside of every project are for all. What lies in a project's folder is that project's, and the
one's where it was added. A package is for the projects that have it: installed, or required by their own files.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.apis.source import is_address
from deltos.errors import BadRequest
from deltos.federation.workspaces import selected
from deltos.workspace.repository import find_repository
from deltos.workspace.selection import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.federation.model import Domains, SearchRequest
    from deltos.store.documents import SourceRow

_ALL_MEMORIES = "all"
_MOST_NAMED = 3


def asked_roots(domains: Domains, asked: SearchRequest) -> Sequence[Path]:
    """The folders of the projects that a question is asked in; none where it is asked in all of them."""
    if asked.project_id in (EVERYTHING, _ALL_MEMORIES):
        return ()
    try:
        if asked.project_id:
            return [each.index.project.root for each in selected(domains.projects, asked).repositories]
    except BadRequest:  # a project that memory alone knows
        pass
    return asked.every_root


def note_of_others(names: Sequence[str]) -> tuple[str, ...]:
    """What was not searched as it belongs to other projects, and how to search it."""
    if not names:
        return ()
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return (f"Not searched, as of other projects: {', '.join(names[:_MOST_NAMED])}{more} (project_id=* does)",)


@dataclass
class Belonging:
    """What belongs to other projects than those at `roots`; nothing does where there are none."""

    domains: Domains
    roots: Sequence[Path]

    def foreign_sources(self) -> list[SourceRow]:
        """The sources of documentation that were read from folders of other projects, and added there, and the packages
        that only those have."""
        local = [
            source
            for source in (self.domains.docs.library.sources() if self._places else ())
            if source.kind in ("folder", "git") and "://" not in source.url
        ]
        foreign = [source for source in local if self._is_foreign(source.url, source.project_root)]
        return foreign + self.domains.docs.library.foreign_packages(self._places)

    def foreign_apis(self) -> dict[int, str]:
        """The ids and names of the APIs that were read from files of other projects, by themselves or with a source."""
        rows = [row for row in self.domains.apis.library.rows() if not is_address(row.source)] if self._places else []
        added = {source.id: source.project_root for source in self.domains.docs.library.sources()} if rows else {}
        return {row.id: row.name for row in rows if self._is_foreign(row.source, added.get(row.source_name, ""))}

    @cached_property
    def _places(self) -> list[Path]:
        return [root.resolve() for root in self.roots]

    @cached_property
    def _indexed(self) -> list[Path]:
        """The roots of all indexed projects, inner ones first."""
        return sorted((index.root for index in self.domains.projects.stores.known()), key=lambda root: -len(root.parts))

    def _is_foreign(self, location: str, added_in: str) -> bool:
        """Whether a file or folder lies in a project that none of the places is in, and was added in none of them."""
        path = Path(location)
        if any(path.is_relative_to(place) or (added_in and Path(added_in) == place) for place in self._places):
            return False
        home = self._project_around(path)
        return home is not None and not any(place.is_relative_to(home) for place in self._places)

    def _project_around(self, path: Path) -> Path | None:
        """The checkout that a path lies in, or the innermost indexed project."""
        repository = find_repository(path if path.is_dir() else path.parent)
        if repository is not None:
            return repository.top
        return next((root for root in self._indexed if path.is_relative_to(root)), None)
