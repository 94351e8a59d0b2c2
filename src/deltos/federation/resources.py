"""MCP resources: the project map, documentation passages and observations, by URI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.federation.model import SearchRequest
from deltos.federation.overview import render_overview
from deltos.markup.text import fenced
from deltos.tool import Resource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.federation.search import Federation
    from deltos.tool import Call
    from deltos.workspace.projects import Projects


@dataclass(frozen=True, slots=True)
class Resources:
    """Reader of MCP resources by URI."""

    projects: Projects
    federation: Federation
    token_budget: int

    def list_resources(self, toolsets: Sequence[str]) -> tuple[Resource, ...]:
        """Return the resources of the enabled toolsets."""
        offered: list[Resource] = []
        if "graph" in toolsets:
            about = "A map of the repository: its most central files and symbols with signatures."
            uri = "deltos://project/overview"
            offered.append(Resource(uri, "project-overview", "Project overview", about, self.overview))
        if "docs" in toolsets:
            about = "A passage of documentation by the number in its id, with its citation."
            offered.append(Resource("deltos://doc/{id}", "doc", "Documentation passage", about, self.passage))
        if "memory" in toolsets:
            about = "An observation of an earlier session, by its id."
            uri = "deltos://observation/{id}"
            offered.append(Resource(uri, "observation", "Observation", about, self.observation))
        return tuple(offered)

    def overview(self, call: Call) -> str:
        """Return the map of the session's project."""
        index = self.projects.index_of(call.session.project_root())
        return index.answer(
            lambda freshness: "\n".join(
                [
                    *freshness.notes_about(),
                    render_overview(index, index.store.graph, token_budget=self.token_budget),
                ]
            ),
            progress=call.progress,
        )

    def passage(self, call: Call) -> str:
        """Return a documentation passage as quoted text."""
        return self._read_full_text("doc:", call)

    def observation(self, call: Call) -> str:
        """Return an observation as quoted text."""
        return self._read_full_text("obs:", call)

    def _read_full_text(self, prefix: str, call: Call) -> str:
        identifier = prefix + call.text("id").removeprefix(prefix)
        found = self.federation.fetch(identifier, SearchRequest("", call.session.project_root(), call.progress))
        facts = [f"{name}: {value}" for name, value in found.metadata.items() if value]
        return "\n".join([f"# {found.title}", f"Source: {found.url}", *facts, "", fenced(found.text)])
