"""Data types of the search across all domains: request, hits, provider results and full texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from deltos.model import NO_FILTERS, Filters

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.domains.apis.domain import Apis
    from deltos.domains.docs.domain import Docs
    from deltos.domains.memory.core.memory import Memory
    from deltos.isolated_parser import Parser
    from deltos.model import Project
    from deltos.progress import Progress
    from deltos.tool import JsonObject
    from deltos.workspace.project_selection import Selection
    from deltos.workspace.projects import Projects


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A query with the session's folders. An empty `project_id` selects the project of the session."""

    query: str
    root: Path
    progress: Progress
    project_id: str = ""
    limit: int = 10
    filters: Filters = NO_FILTERS
    roots: Sequence[Path] = ()
    chosen: list[Selection] = field(default_factory=list, compare=False)  # cache of at most one selection

    @property
    def all_roots(self) -> Sequence[Path]:
        """All folders of the session, or `root` if none are given."""
        return self.roots or (self.root,)


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result.

    `own_score` is comparable only with hits of the same provider. `names` are the symbols that the hit defines.
    `is_semantic_match` is true if the hit was found by similarity and shares no words with the query.
    """

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
    is_semantic_match: bool = False

    @property
    def kind(self) -> str:
        """Kind of the result, which is the prefix of the id: code, doc, api, obs or commit."""
        return self.id.partition(":")[0]


@dataclass(frozen=True, slots=True)
class ProviderResults:
    """Results of a provider, best first.

    - `total`: number of matches.
    - `searched`: description of the searched material.
    - `notes`: notes for the user.
    - `unsearched`: names of the sources that were skipped because they belong to other projects.
    - `is_list`: the query asks for exactly these hits in this order.
    - `is_substitute`: the requested list is empty, and these hits are shown instead.
    - `is_explicit`: the query explicitly asks for this kind of result.
    - `missing_reason`: why the requested kind is not available. Shown unless memory answers the query.
    """

    hits: tuple[Hit, ...] = ()
    total: int = 0
    searched: str = ""
    notes: tuple[str, ...] = ()
    unsearched: tuple[str, ...] = ()
    is_list: bool = False
    is_substitute: bool = False
    is_explicit: bool = False
    missing_reason: str = ""


@dataclass(frozen=True, slots=True)
class FullText:
    """The full text of a result, with a citation."""

    id: str
    title: str
    text: str
    url: str
    metadata: JsonObject


class Domains(Protocol):
    """Interface to the domains, each of which is opened on first use."""

    @property
    def projects(self) -> Projects:
        """The projects with their code and graph indexes."""

    @property
    def docs(self) -> Docs:
        """The documentation domain."""

    @property
    def apis(self) -> Apis:
        """The API domain."""

    @property
    def memory(self) -> Memory:
        """The memory domain."""

    @property
    def parser(self) -> Parser:
        """Parser for untrusted input, in child processes."""

    def project_with_stored_identity(self, folder: Path) -> Project:
        """Return the project of a folder, with the identity that memory uses for it."""


class Provider(Protocol):
    """Interface of a domain that provides results for the search across all domains."""

    kind: str
    toolsets: tuple[str, ...]

    def search(self, asked: SearchRequest, scope: Sequence[str], /) -> ProviderResults:
        """Return the results for a request, within the toolsets in `scope`."""

    def fetch(self, identifier: str, asked: SearchRequest) -> FullText:
        """Return the full text of the result with this id. Raise NotFound if the id is unknown."""
