"""Protocols and row types of documentation: sources with their crawls, pages, chunks and index words.

Each crawl of a source writes a new generation: a numbered version of the pages. Search uses the published generation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.sources import Sources
    from deltos.store.vectors import VectorRecords

CrawlState = Literal["open", "done", "failed", "cancelled"]
AddressState = Literal["queued", "done", "unchanged", "failed", "missing", "skipped"]


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A documentation source that the user added.

    `generation` is the version number of the pages that search uses. It is 0 until the first crawl is published.
    """

    id: str
    name: str
    kind: str
    url: str
    version: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_pages: int = 500
    max_depth: int = 0
    project_root: str = ""
    generation: int = 0
    added_at: float = 0.0
    crawled_at: float = 0.0
    auth: str = ""  # name of the login used to fetch the source, never the secret itself
    folder: str = ""  # folder of the repository to crawl; empty for the whole repository
    reference: str = ""  # full name of a repository's branch or tag; `version` is the short name
    projects: tuple[str, ...] = ()  # root folders of projects that can use the source; `*` means all projects


@dataclass(frozen=True, slots=True)
class CrawlRow:
    """The running or last crawl of a source. `generation` is the version number of the pages that it writes."""

    source_id: str
    generation: int
    state: CrawlState
    reason: str
    is_full: bool
    is_seeded: bool
    started_at: float
    finished_at: float


@dataclass(frozen=True, slots=True)
class CrawlAddress:
    """A URL of a crawl and its state.

    `etag` and `last_modified` are set only for a URL whose response contained no page.
    """

    url: str
    depth: int = 0
    state: AddressState = "queued"
    attempts: int = 0
    reason: str = ""  # reason for the state; for a queued URL, the state in the previous crawl
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class SkippedAddresses:
    """A reason why a crawl skipped URLs, with the number of these URLs and the first one."""

    reason: str
    count: int
    first_url: str


class DocsChunkRow(NamedTuple):
    """A chunk of a documentation page to store."""

    # This class is a named tuple, because named tuples are pickled several times faster than dataclasses.

    section: str
    anchors: tuple[str, ...]
    is_definition: bool
    text: str
    traits: int = 0


@dataclass(frozen=True, slots=True)
class PageRow:
    """A documentation page to store. `url` is the URL for citations.

    `links` contains the (URL with fragment, link text) pairs that point to pages of the same source.
    """

    url: str
    requested_url: str
    title: str
    etag: str
    last_modified: str
    hash: bytes
    chunks: tuple[DocsChunkRow, ...]
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class KnownPage:
    """HTTP validators and content hash of a stored page, used to check whether the page has changed."""

    etag: str
    last_modified: str
    hash: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """Partial results of a crawl, which are written in one transaction: pages, crawled URLs and discovered URLs."""

    pages: tuple[PageRow, ...] = ()
    crawled: tuple[CrawlAddress, ...] = ()
    discovered: tuple[CrawlAddress, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk of a page version that a crawl has written but not yet published."""

    id: int
    section: str
    anchors: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A version of a page that search will use after the open crawl of the source is published."""

    id: int
    url: str
    title: str
    is_indexed: bool
    links_in: int


@dataclass(frozen=True, slots=True)
class DocsChunkWords:
    """Words under which one chunk is indexed, by field, and the number of pages that link to the chunk."""

    chunk_id: int
    heading: str
    trail: str
    anchors: str
    links: str
    body: str
    links_in: int


@dataclass(frozen=True, slots=True)
class PageWords:
    """Words under which one page is indexed, by field, and the number of links to the page."""

    page_id: int
    title: str
    headings: str
    body: str
    links_in: int


@dataclass(frozen=True, slots=True)
class DocsTotals:
    """Number of searchable sources, pages and chunks."""

    sources: int
    pages: int
    chunks: int


@dataclass(frozen=True, slots=True)
class CandidateChunk:
    """A chunk considered by ranking, with index words by field and other ranking inputs."""

    chunk_id: int
    page_id: int
    source: str
    url: str
    title: str
    section: str
    position: int
    is_definition: bool
    traits: int  # flags that describe a definition (see `markup.model.Trait`)
    anchors: str
    links_in: int
    page_links_in: int
    heading_words: str
    trail_words: str
    anchor_words: str
    link_words: str
    body_words: str
    text_length: int


@dataclass(frozen=True, slots=True)
class ShownChunk:
    """A chunk with the fields that a search result shows."""

    id: int
    source_id: str
    source: str
    version: str
    url: str
    title: str
    section: str
    anchors: tuple[str, ...]
    text: str


class Pages(Protocol):
    """Writer of documentation: stores and indexes the pages of a crawl, and publishes them."""

    def known_pages(self, source_id: str) -> dict[str, KnownPage]:
        """Return the published pages and the pages already written by the open crawl, by requested URL."""

    def published_urls(self, source_id: str) -> list[str]:
        """Return the requested URLs of all published pages."""

    def write(self, source_id: str, generation: int, batch: Batch) -> bool:
        """Write partial results of a crawl. Write nothing and return False if the crawl was cancelled or replaced."""

    def drop_unseen_pages(self, source_id: str, generation: int) -> int:
        """Mark pages that the crawl did not find, so that they are deleted when the crawl is published.

        Return the total number of pages that will then be deleted.
        """

    def next_pages(self, source_id: str) -> list[StoredPage]:
        """Return the pages that the source will have when the open crawl is published."""

    def next_anchors(self, source_id: str) -> Iterator[tuple[int, int, str]]:
        """Yield (page id, chunk id, anchors) for each chunk on one of `next_pages`, in reading order."""

    def next_links(self, source_id: str) -> Iterator[tuple[int, str, str]]:
        """Yield (page id, target, link text) for each link on one of `next_pages`."""

    def indexed_links(self, source_id: str) -> dict[int, tuple[str, int]]:
        """Return the words of the links to each indexed chunk, and the number of pages with such links, by chunk id."""

    def chunks_of(self, page_id: int) -> list[StoredChunk]:
        """Return the chunks of a page in reading order."""

    def write_words(self, pages: Sequence[PageWords], chunks: Sequence[DocsChunkWords]) -> None:
        """Add pages and chunks to the word indexes."""

    def update_links(self, chunks: Sequence[tuple[int, str, int]], pages: Sequence[tuple[int, int]]) -> None:
        """Update the indexed words and the numbers of links to chunks and pages.

        `chunks` contains (chunk id, words of the links, number of links), and `pages` contains (page id, number of
        links).
        """

    def publish(self, source_id: str, generation: int, left_out: str = "", *, now: float) -> bool:
        """Make the pages of the crawl `generation` searchable, atomically. Return False if the crawl was cancelled.

        `left_out` is a message about the pages excluded by the limits of the source.
        """

    def discard(self, source_id: str) -> None:
        """Delete the pages that an abandoned crawl has written. The published pages do not change."""

    def remove_source(self, source_id: str) -> int:
        """Delete a source with all its data, and return the number of deleted pages."""


class Passages(Protocol):
    """Search over the published pages of documentation sources.

    It returns candidates with the inputs of the ranking, and chunks to show as results.
    """

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context manager within which all reads see the same state."""

    def totals(self, source_ids: Collection[str]) -> DocsTotals:
        """Return the number of published pages and chunks of the given sources."""

    def document_frequencies(self, words: Iterable[str]) -> dict[str, int]:
        """Return the number of chunks that contain each word. Absent words are omitted."""

    def chunk_count(self) -> int:
        """Return the number of chunks in the word index."""

    def candidates(self, words: Sequence[str], source_ids: Collection[str], *, limit: int) -> list[CandidateChunk]:
        """Return the best-matching chunks in arbitrary order, or an empty list if there are no words."""

    def candidates_by_id(self, chunk_ids: Collection[int], source_ids: Collection[str]) -> list[CandidateChunk]:
        """Return the given chunks as candidates. Chunks on unpublished pages or of other sources are omitted."""

    def visible_chunk_ids(self, chunk_ids: Collection[int], source_ids: Collection[str]) -> set[int]:
        """Return the given ids of chunks that are on published pages of the given sources. Other ids are dropped."""

    def chunk_ids(self, source_ids: Collection[str]) -> list[int]:
        """Return the ids of all published chunks of the given sources."""

    def page_scores(self, words: Sequence[str], source_ids: Collection[str], *, limit: int) -> dict[int, float]:
        """Return the scores of the best-matching pages by page id, or an empty mapping if there are no words."""

    def chunks(self, chunk_ids: Sequence[int]) -> list[ShownChunk]:
        """Return the chunks with the given ids, in the given order. Deleted chunks are omitted."""


class Documents(Protocol):
    """Store of all documentation in a library."""

    @property
    def sources(self) -> Sources:
        """Documentation sources and their crawls."""

    @property
    def pages(self) -> Pages:
        """Writer of pages."""

    @property
    def passages(self) -> Passages:
        """Search over published pages."""

    @property
    def vectors(self) -> VectorRecords:
        """Embedding vectors of chunks."""
