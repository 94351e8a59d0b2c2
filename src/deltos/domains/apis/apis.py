"""The API domain in one object: what the app opens and the surfaces hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.apis.answer import ApiSearcher
from deltos.domains.apis.index import ApiIndexer
from deltos.domains.apis.library import ApiLibrary
from deltos.guarded import GuardedParser
from deltos.isolated.process import Workers
from deltos.store.sqlite.apis import ApiStore
from deltos.store.sqlite.stopped import StoppedStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.apis.search import Compare
    from deltos.domains.apis.source import Network
    from deltos.guarded import Parser
    from deltos.store.sqlite.database import Database

MOST_READING = 3  # descriptions at once; other work finds children all the same


@dataclass(frozen=True, slots=True)
class Apis:
    """Indexes, lists and searches API descriptions of one library file."""

    indexer: ApiIndexer
    library: ApiLibrary
    searcher: ApiSearcher


def open_apis(
    database: Database,
    *,
    network: Network | None,
    clock: Callable[[], float],
    parser: Parser | None = None,
    compare: Compare | None = None,
) -> Apis:
    """The domain over a library file; without a network only local descriptions can be added."""
    store = ApiStore(database)
    library = ApiLibrary(store)
    parser = parser or GuardedParser(Workers(), StoppedStore(database, clock))
    indexer = ApiIndexer(store, network=network, parser=parser, clock=clock)
    return Apis(indexer, library, ApiSearcher(library, compare))
