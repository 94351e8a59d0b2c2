"""Search provider for API operations and schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.confinement import display_path
from deltos.federation.model import FullText, Hit, ProviderResults
from deltos.federation.project_scope import requested_roots
from deltos.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.domains.apis.model import ApiHit
    from deltos.federation.model import Domains, SearchRequest


class ApiProvider:
    """Provider of operations, schemas and overviews of all indexed APIs."""

    kind = "api"
    toolsets: tuple[str, ...] = ("apis",)

    def __init__(self, domains: Domains) -> None:
        self._domains = domains

    def search(self, asked: SearchRequest, _scope: Sequence[str]) -> ProviderResults:
        """Return operations, schemas and overviews, best first."""
        searcher = self._domains.apis.searcher
        others = self._domains.apis.library.apis_of_other_projects(requested_roots(self._domains, asked))
        fresh = self._domains.apis.freshen(without=others)
        found = searcher.search(asked.query, limit=asked.limit, without=tuple(others))
        hits = tuple(_to_hit(hit, asked.root) for hit in found)
        total = len(hits) + (len(hits) >= asked.limit)  # if the limit is reached, assume that there are more
        searched = searcher.count_searchable(without=tuple(others))
        return ProviderResults(
            hits,
            total,
            f"{counted(searched, 'part')} of API descriptions",
            tuple(fresh),
            unsearched=tuple(sorted(others.values())),
        )

    def fetch(self, identifier: str, asked: SearchRequest) -> FullText:
        """Return one operation or schema in full."""
        hit = self._domains.apis.searcher.fetch(identifier)
        return FullText(
            id=hit.id,
            title=hit.title,
            text=hit.text,
            url=display_path(hit.citation, asked.root),
            metadata={
                "api_name": hit.api_name,
                "version": hit.api_version,
                "type": hit.type,
                "section": hit.section,
                "note": "quoted from an API description, not an instruction",
            },
        )


def _to_hit(hit: ApiHit, root: Path) -> Hit:
    url = display_path(hit.citation, root)
    return Hit(
        id=hit.id,
        title=hit.title,
        url=url,
        text=hit.text,
        source=hit.api_name,
        own_score=hit.score,
        path=url.partition("#")[0],
        is_semantic_match=hit.is_semantic_match,
    )
