"""The API domain: indexing, listing, search and freshness behind one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.apis.freshness import DescriptionWatch
from deltos.domains.apis.hits import ApiSearcher
from deltos.domains.apis.index import ApiIndexer
from deltos.domains.apis.library import ApiLibrary
from deltos.errors import NotFound
from deltos.isolated.process_pool import ProcessPool
from deltos.isolated_parser import IsolatedParser

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from deltos.domains.apis.source import Network
    from deltos.isolated_parser import Parser
    from deltos.semantic_index import SemanticIndex
    from deltos.store.library import LibraryStore

MAX_CONCURRENT_PARSES = 3  # descriptions parsed at once; the other children stay free for other work


@dataclass(frozen=True, slots=True)
class Apis:
    """Everything that other packages use of the API domain."""

    indexer: ApiIndexer
    library: ApiLibrary
    searcher: ApiSearcher
    watch: DescriptionWatch

    def freshen(self, api_name: str = "", *, without: Collection[int] = ()) -> tuple[str, ...]:
        """Re-read descriptions whose files changed and return notes about stale results.

        `api_name` selects one API or group; otherwise all APIs are checked, except those whose ids are in `without`.
        """
        try:
            rows = self.library.group(api_name) if api_name else self.library.rows()
        except NotFound:  # the caller's own lookup of the API reports this
            return ()
        return self.watch.freshen([row for row in rows if row.id not in without])


def open_apis(
    store: LibraryStore,
    *,
    network: Network | None,
    clock: Callable[[], float],
    parser: Parser | None = None,
    semantic_index: Callable[[], SemanticIndex | None] = lambda: None,
) -> Apis:
    """Open the API domain of a library; without `network`, only local descriptions can be added."""
    library = ApiLibrary(store.apis)
    parser = parser or IsolatedParser(ProcessPool(), store.unreadable_content)
    indexer = ApiIndexer(store.apis, network=network, parser=parser, clock=clock, semantic_index=semantic_index)
    return Apis(indexer, library, ApiSearcher(library, semantic_index), DescriptionWatch(library, indexer))
