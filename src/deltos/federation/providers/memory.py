"""Search provider for observations. Observations about code that has changed since are marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.memory.core.model import ALL_PROJECTS, format_id, title_of
from deltos.domains.memory.render import CHANGED_MARK, metadata_of, set_aside_text, url_of
from deltos.errors import BadRequest, NotFound
from deltos.federation.model import FullText, Hit, ProviderResults
from deltos.federation.selected_projects import select_projects
from deltos.text.counts import counted
from deltos.text.times import iso
from deltos.workspace.project_selection import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.memory.core.memory import Memory
    from deltos.domains.memory.search.search import MemoryHit
    from deltos.federation.model import Domains, SearchRequest
    from deltos.model import Project
    from deltos.store.observations import Observation


class MemoryProvider:
    """Provider of personal observations and of observations about a project."""

    kind = "obs"
    toolsets: tuple[str, ...] = ("memory",)

    def __init__(self, domains: Domains) -> None:
        self._domains = domains

    def search(self, asked: SearchRequest, _scope: Sequence[str]) -> ProviderResults:
        """Return observations, best first."""
        memory, project = self._domains.memory, self._domains.project_with_stored_identity(asked.root)
        where = self._memory_scope(memory, asked)
        found = memory.search(asked.query, *where, limit=asked.limit, filters=asked.filters)
        changed = self._changed_ids(memory, project, [hit.observation for hit in found.hits])
        hits = tuple(_to_hit(hit, changed=hit.observation.place in changed) for hit in found.hits)
        searched = counted(found.searched, "observation")
        if found.elsewhere:
            searched += f" ({found.elsewhere} more belong to other projects: project_id='all' searches them too)"
        aside = memory.store.damaged_file
        notes = [set_aside_text(aside)] if aside and not hits else []
        return ProviderResults(hits, found.matching, searched, tuple(notes))

    def _memory_scope(self, memory: Memory, asked: SearchRequest) -> list[str]:
        """Return the ids of the projects whose observations are searched; `*` selects all projects."""
        if asked.project_id == EVERYTHING:
            return [ALL_PROJECTS]
        if asked.project_id and (named := memory.find_project(asked.project_id)):
            return [named]
        if not asked.project_id and len(asked.all_roots) == 1:
            return [self._domains.project_with_stored_identity(asked.root).project_id]
        try:
            repositories = select_projects(self._domains.projects, asked).repositories
        except BadRequest:  # the project may exist only in memory; `expect_project` raises an error with suggestions
            return [memory.expect_project(asked.project_id)]
        return list(dict.fromkeys(memory.with_stored_identity(each.index.project).project_id for each in repositories))

    def fetch(self, identifier: str, asked: SearchRequest) -> FullText:
        """Return one observation in full."""
        memory, project = self._domains.memory, self._domains.project_with_stored_identity(asked.root)
        lookup = memory.look_up([identifier], project.project_id)
        if not lookup.found:
            raise NotFound(
                f"No observation with id {identifier[:200]}",
                hint="Ids come from search; forget with restore=true restores forgotten observations.",
            )
        observation = lookup.found[0]
        changed = bool(self._changed_ids(memory, project, lookup.found))
        return FullText(
            id=format_id(observation.id),
            title=title_of(observation.text),
            text=observation.text,
            url=url_of(observation),
            metadata=metadata_of(observation, changed=changed),
        )

    @staticmethod
    def _changed_ids(memory: Memory, project: Project, rows: Sequence[Observation]) -> set[int]:
        return memory.changed_places(list(rows), {project.project_id: project.root})


def _to_hit(found: MemoryHit, *, changed: bool) -> Hit:
    observation = found.observation
    return Hit(
        id=format_id(observation.id),
        title=title_of(observation.text),
        url=url_of(observation),
        text=observation.text,
        source=observation.source or observation.kind,
        own_score=found.score,
        created_at=iso(observation.created_at),
        is_semantic_match=found.is_near,
        mark=CHANGED_MARK if changed else "",
    )
