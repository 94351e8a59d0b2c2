"""The nouns of the federated search: what is asked, what each provider found, and the full text behind an id."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from deltos.model import NO_FILTERS, Filters

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.domains.apis.apis import Apis
    from deltos.domains.docs.domain import Docs
    from deltos.domains.memory.memory import Memory
    from deltos.guarded import Parser
    from deltos.model import Project
    from deltos.progress import Progress
    from deltos.tool import JsonObject
    from deltos.workspace.projects import Projects
    from deltos.workspace.selection import Selection


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question and where it is asked: the session's folder, all of its folders where there are several, and the
    projects where others are meant."""

    query: str
    root: Path
    progress: Progress
    project_id: str = ""
    limit: int = 10
    filters: Filters = NO_FILTERS
    roots: Sequence[Path] = ()
    chosen: list[Selection] = field(default_factory=list, compare=False)  # what was selected, once somebody asked

    @property
    def every_root(self) -> Sequence[Path]:
        """All folders of the session."""
        return self.roots or (self.root,)


@dataclass(frozen=True, slots=True)
class Hit:
    """One result. `own_score` compares within its provider only; `names` are what it defines; one that `is_near` was
    found by meaning alone."""

    id: str
    title: str
    url: str
    text: str
    source: str
    own_score: float
    created_at: str = ""
    names: tuple[str, ...] = ()
    path: str = ""
    mark: str = ""
    is_near: bool = False

    @property
    def kind(self) -> str:
        """What its id begins with: code, doc, api, obs or commit."""
        return self.id.partition(":")[0]


@dataclass(frozen=True, slots=True)
class ProviderResults:
    """What one provider found, best first; among how many; and what a reader should know about that. `elsewhere` names
    what it did not look into, as it belongs to other projects. `is_list`: the question asks for these as such, in this
    order; `is_beside`: it asks so for others, of which there are none; `is_meant`: it asks for this kind, whatever else
    it says. `lack` is why nothing could be looked at that the question asks for; it is said unless memory answers."""

    hits: tuple[Hit, ...] = ()
    total: int = 0
    searched: str = ""
    notes: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    is_list: bool = False
    is_beside: bool = False
    is_meant: bool = False
    lack: str = ""


@dataclass(frozen=True, slots=True)
class Whole:
    """The full text behind an id, with its citation."""

    id: str
    title: str
    text: str
    url: str
    metadata: JsonObject


class Domains(Protocol):
    """The domains that a search over everything asks, each opened when it is first asked for."""

    @property
    def projects(self) -> Projects:
        """Code and graph."""

    @property
    def docs(self) -> Docs:
        """Documentation."""

    @property
    def apis(self) -> Apis:
        """API descriptions."""

    @property
    def memory(self) -> Memory:
        """What was learned."""

    @property
    def parser(self) -> Parser:
        """Parses what comes from outside."""

    def remembered_project(self, folder: Path) -> Project:
        """The project at a folder, under the identity that memory has for it."""


class Provider(Protocol):
    """One kind of knowledge, as the search over everything sees it."""

    kind: str
    toolsets: tuple[str, ...]

    def search(self, asked: SearchRequest, scope: Sequence[str], /) -> ProviderResults:
        """What answers a question, of the toolsets in `scope`."""

    def fetch(self, identifier: str, asked: SearchRequest) -> Whole:
        """The full text behind an id of this kind; NotFound when there is none."""
