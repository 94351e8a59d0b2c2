"""The API domain in one object: what the app opens and the surfaces hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.apis.answer import ApiSearcher
from deltos.domains.apis.index import ApiIndexer
from deltos.domains.apis.library import ApiLibrary
from deltos.store.apis import ApiStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.apis.search import Compare
    from deltos.domains.apis.source import Network
    from deltos.store.sqlite import Database


@dataclass(frozen=True, slots=True)
class Apis:
    """Indexes, lists and searches API descriptions of one library file."""

    indexer: ApiIndexer
    library: ApiLibrary
    searcher: ApiSearcher


def open_apis(
    database: Database, *, network: Network | None, clock: Callable[[], float], compare: Compare | None = None
) -> Apis:
    """The domain over a library file; without a network only local descriptions can be added."""
    store = ApiStore(database)
    library = ApiLibrary(store)
    return Apis(ApiIndexer(store, network=network, clock=clock), library, ApiSearcher(library, compare))
