"""What clients can read by address: the map of the project, a passage of documentation, an observation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinakes.domains.memory.render import fence
from pinakes.federation.model import Asked
from pinakes.federation.overview import render_overview
from pinakes.store.graph_read import GraphReader
from pinakes.tool import Resource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinakes.federation.search import Federation
    from pinakes.tool import Call
    from pinakes.workspace.projects import Projects


def resources(
    projects: Projects, federation: Federation, toolsets: Sequence[str], *, token_budget: int
) -> tuple[Resource, ...]:
    """The resources of the enabled toolsets."""

    def overview(call: Call) -> str:
        index = projects.at(call.session.project_root())
        return index.answer(
            lambda freshness: "\n".join(
                [*freshness.notes, render_overview(index, GraphReader(index.database), token_budget=token_budget)]
            ),
            progress=call.progress,
        )

    def whole(kind: str, call: Call) -> str:
        identifier = call.text("id").removeprefix(f"{kind}:")
        found = federation.fetch(f"{kind}:{identifier}", Asked("", call.session.project_root(), call.progress))
        facts = [f"{name}: {value}" for name, value in found.metadata.items() if value]
        return "\n".join([f"# {found.title}", f"Source: {found.url}", *facts, "", fence(found.text)])

    every = (
        (
            ("code", "graph"),
            Resource(
                "pinakes://project/overview",
                "project-overview",
                "Project overview",
                "A map of the repository: its most central files and symbols with signatures.",
                overview,
            ),
        ),
        (
            ("docs",),
            Resource(
                "pinakes://doc/{id}",
                "doc",
                "Documentation passage",
                "A passage of documentation by the number in its id, with its citation.",
                lambda call: whole("doc", call),
            ),
        ),
        (
            ("memory",),
            Resource(
                "pinakes://observation/{id}",
                "observation",
                "Observation",
                "Something that an earlier session learned, by its id.",
                lambda call: whole("obs", call),
            ),
        ),
    )
    return tuple(resource for sets, resource in every if not set(sets).isdisjoint(toolsets))
