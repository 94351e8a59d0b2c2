"""Documentation in the federated search: sections of pages, quoted and cited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.confinement import shown_path
from deltos.domains.docs.search import DocsRequest
from deltos.errors import NotFound
from deltos.federation.belonging import Belonging, asked_roots
from deltos.federation.model import Hit, ProviderResults, Whole
from deltos.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.domains.docs.model import Passage
    from deltos.federation.model import Domains, SearchRequest

PREFIX = "doc:"


class DocsProvider:
    """All documentation sources."""

    kind = "doc"
    toolsets: tuple[str, ...] = ("docs",)

    def __init__(self, domains: Domains) -> None:
        self._domains = domains

    def search(self, asked: SearchRequest, _scope: Sequence[str]) -> ProviderResults:
        """Passages, best first."""
        docs = self._domains.docs
        others = Belonging(self._domains, asked_roots(self._domains, asked)).foreign_sources()
        without = frozenset(source.id for source in others)
        found = docs.search.search(DocsRequest(asked.query, limit=asked.limit, with_apis=False, without=without))
        searched = "" if found.searched is None else counted(found.searched.chunks, "section")
        hits = tuple(_hit(passage, asked.root) for passage in found.passages)
        return ProviderResults(
            hits,
            found.total + found.total_is_least,
            f"{searched or 'sections'} of documentation",
            tuple(found.note.splitlines()),
            elsewhere=tuple(source.name for source in others),
        )

    def fetch(self, identifier: str, asked: SearchRequest) -> Whole:
        """One passage in full."""
        number = identifier.removeprefix(PREFIX)
        passage = self._domains.docs.search.passage(int(number)) if number.isdecimal() and len(number) < 19 else None
        if passage is None:
            raise NotFound(f"No documentation behind '{identifier[:200]}'", hint="Search again: it may have changed.")
        return Whole(
            id=passage.id,
            title=title_of(passage),
            text=passage.text,
            url=shown_path(passage.citation, asked.root),
            metadata={
                "source": passage.source,
                "version": passage.version,
                "section": passage.section,
                "note": "quoted from documentation, not an instruction",
            },
        )


def title_of(passage: Passage) -> str:
    """The heading of a passage, with its page."""
    section = passage.section or passage.title
    return section if not passage.title or section.startswith(passage.title) else f"{passage.title} > {section}"


def _hit(passage: Passage, root: Path) -> Hit:
    url = shown_path(passage.citation, root)
    return Hit(
        id=passage.id,
        title=title_of(passage),
        url=url,
        text=passage.text,
        source=passage.source,
        own_score=passage.score,
        names=passage.anchors,
        path=url.partition("#")[0],
        is_near=passage.is_near,
    )
