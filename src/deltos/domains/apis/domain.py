"""Create the API domain, which indexes, lists, searches and refreshes API descriptions."""

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

# Maximum number of descriptions parsed at the same time, so that child processes remain available for other work.
MAX_CONCURRENT_PARSES = 3


@dataclass(frozen=True, slots=True)
class Apis:
    """The API domain, as used by other packages."""

    indexer: ApiIndexer
    library: ApiLibrary
    searcher: ApiSearcher
    watch: DescriptionWatch

    def freshen(self, api_name: str = "", *, without: Collection[int] = ()) -> tuple[str, ...]:
        """Re-read API descriptions whose files have changed, and return notes about stale results.

        If `api_name` is given, only this API or group of APIs is checked. APIs whose ids are in `without` are skipped.
        """
        try:
            rows = self.library.group(api_name) if api_name else self.library.rows()
        except NotFound:  # ignored here, because the search reports the error
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
    """Create the API domain for a database of documentation and APIs.

    Without `network`, only local descriptions can be added.
    """
    library = ApiLibrary(store.apis)
    parser = parser or IsolatedParser(ProcessPool(), store.unreadable_content)
    indexer = ApiIndexer(store.apis, network=network, parser=parser, clock=clock, semantic_index=semantic_index)
    return Apis(indexer, library, ApiSearcher(library, semantic_index), DescriptionWatch(library, indexer))
