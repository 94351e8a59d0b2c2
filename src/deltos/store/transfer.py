"""Row types for copying a library or a memory from one engine to another, in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

from deltos.store.apis import NewUnit, UnitRow, UnitWords

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.store.apis import ApiRow
    from deltos.store.documents import CrawlAddress, CrawlRow, SourceRow
    from deltos.store.library import LibraryStore
    from deltos.store.observations import Anchor

Vector = tuple[str, bytes]  # embedding model and data


class TransferredChunk(NamedTuple):
    """A chunk of a page. `words` contains the index words by field, or None if the chunk is not indexed."""

    section: str
    anchors: str
    is_definition: bool
    text: str
    traits: int
    links_in: int
    words: tuple[str, str, str, str, str] | None
    vector: Vector | None


class TransferredPage(NamedTuple):
    """A page with its chunks and links. `words` contains the index words by field, or None."""

    url: str
    address: str
    title: str
    etag: str
    last_modified: str
    hash: bytes
    added: int  # first generation (numbered crawl) that contains the page
    dropped: int | None  # first generation without the page; None if it was never dropped
    links_in: int  # number of pages that link to the page
    links: tuple[tuple[str, str], ...]
    words: tuple[str, str, str] | None
    chunks: tuple[TransferredChunk, ...]


class TransferredSource(NamedTuple):
    """A documentation source with its crawl. `pages` are read lazily."""

    source: SourceRow
    crawl: CrawlRow | None
    addresses: tuple[CrawlAddress, ...]
    pages: Iterator[TransferredPage]


class TransferredApi(NamedTuple):
    """An API with all units (such as operations) and the embedding vector of each unit."""

    api: ApiRow
    units: tuple[tuple[NewUnit, Vector | None], ...]


class LibraryTransfer(ABC):
    """Reader of a complete library, in batches. The subclass for each storage engine adds writing."""

    def __init__(self, library: LibraryStore) -> None:
        self._store = library

    @abstractmethod
    def _pages(self, source_id: str) -> Iterator[TransferredPage]:
        """Yield the pages of a documentation source."""

    @abstractmethod
    def _unit_rows(self, api_id: int) -> Iterable[Sequence[Any]]:
        """Return one row per unit (such as an operation) of an API, with columns, body, index words and vector."""

    def existing_names(self) -> set[str]:
        """Return the ids of all sources and the lower-case names of all APIs."""
        sources, apis = self._store.sources.sources(), self._store.apis.apis()
        return {*(source.id for source in sources), *(api.name.lower() for api in apis)}

    def sources(self) -> Iterator[TransferredSource]:
        """Yield all documentation sources."""
        sources = self._store.sources
        for source in sources.sources():
            addresses = tuple(sources.all_addresses(source.id))
            yield TransferredSource(source, sources.crawl(source.id), addresses, self._pages(source.id))

    def apis(self) -> Iterator[TransferredApi]:
        """Yield all APIs."""
        for api in self._store.apis.apis():
            yield TransferredApi(api, tuple(_unit_from_row(row) for row in self._unit_rows(api.id)))


def row_or_none(cells: Sequence[Any]) -> Any:
    """Return the columns of an outer join, or None if the joined row does not exist."""
    return None if cells[0] is None else tuple(cells)


def _unit_from_row(row: Sequence[Any]) -> tuple[NewUnit, Vector | None]:
    words = None if row[11] is None else UnitWords(*row[11:16])
    return NewUnit(UnitRow(*row[:10]), row[10], words), row_or_none(row[16:18])


class TransferredSession(NamedTuple):
    """A stored session, with its key."""

    key: int
    project: int
    session_id: str | None
    agent: str
    started_at: int
    ended_at: int | None
    shown_at: int | None


# The copy has the same row numbers (`place`), because sessions, exports and vectors refer to row numbers.
class TransferredObservation(NamedTuple):
    """A stored observation with all columns, but without index words."""

    place: int
    id: str
    project: int
    kind: str
    source: str
    created_at: int
    updated_at: int | None
    deleted_at: int | None
    files: str
    symbols: str
    embedding: bytes | None
    embedding_model: str | None
    pinned_at: int | None
    superseded_by: str | None
    score: float | None
    restored_at: int | None
    unpinned_at: int | None
    superseded_at: int | None
    names: str
    text: str
    change: int
    anchors: tuple[Anchor, ...]
    vector: Vector | None


class TransferredNotes(NamedTuple):
    """Memory records other than observations: exports, purged ids, and keys of journal records already converted."""

    exported: tuple[tuple[bytes, int], ...]
    purged: tuple[bytes, ...]
    distilled: tuple[bytes, ...]
