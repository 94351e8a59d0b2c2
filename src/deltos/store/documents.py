"""Protocols and row types of documentation: sources with their crawls, pages, chunks and index words."""

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
    """A documentation source that the user added. Readers see its pages of `generation`; 0 means no pages yet."""

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
    browser: bool = False
    folder: str = ""  # folder of a repository (no pattern); empty means the whole repository
    reference: str = ""  # full name of a repository's branch or tag; `version` is the short name
    projects: tuple[str, ...] = ()  # root folders of the projects that see the source; `*` means all projects


@dataclass(frozen=True, slots=True)
class CrawlRow:
    """The running or last crawl of a source, which creates the pages of `generation`."""

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

    `etag` and `last_modified` come from a response without a page; a page stores its own values.
    """

    url: str
    depth: int = 0
    state: AddressState = "queued"
    attempts: int = 0
    reason: str = ""  # for a queued URL: its state in the last crawl
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class SkippedAddresses:
    """Number of URLs that were skipped for one reason, and the first of them."""

    reason: str
    count: int
    first_url: str


class DocsChunkRow(NamedTuple):
    """A chunk to store. It is sent between processes, and named tuples are pickled several times faster."""

    section: str
    anchors: tuple[str, ...]
    is_definition: bool
    text: str
    traits: int = 0


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page to store. `requested_url` is the requested URL, `url` is the URL to cite.

    `links` are (URL with fragment, link text) pairs that point to pages of the same source.
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
    """HTTP validators and content hash of a stored page, used to check whether it has changed."""

    etag: str
    last_modified: str
    hash: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """Results of a part of a crawl, which are written in one transaction."""

    pages: tuple[PageRow, ...] = ()
    settled: tuple[CrawlAddress, ...] = ()
    discovered: tuple[CrawlAddress, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk of the next generation."""

    id: int
    section: str
    anchors: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page of the next generation."""

    id: int
    url: str
    title: str
    is_indexed: bool
    links_in: int


@dataclass(frozen=True, slots=True)
class DocsChunkWords:
    """Index words of one chunk by field, and the number of pages that link to it."""

    chunk_id: int
    heading: str
    trail: str
    anchors: str
    links: str
    body: str
    links_in: int


@dataclass(frozen=True, slots=True)
class PageWords:
    """Index words of one page."""

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
    """A chunk considered by ranking, with its words by field and other ranking inputs."""

    chunk_id: int
    page_id: int
    source: str
    url: str
    title: str
    section: str
    position: int
    is_definition: bool
    traits: int  # flags of a definition (markup.model.Trait)
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
    """A chunk with all values that a search result shows."""

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
    """The write path: store and index the pages of a crawl, and publish them to readers."""

    def known_pages(self, source_id: str) -> dict[str, KnownPage]:
        """Return stored pages by URL: the pages that readers see or that the open crawl has already written."""

    def live_addresses(self, source_id: str) -> list[str]:
        """Return the URLs of all pages that readers see."""

    def write(self, source_id: str, generation: int, batch: Batch) -> bool:
        """Write a batch of a crawl. Write nothing and return False if the crawl was cancelled or replaced."""

    def drop_unseen_pages(self, source_id: str, generation: int) -> int:
        """Mark pages that the crawl did not find again, and return how many pages the new generation drops in total."""

    def next_pages(self, source_id: str) -> list[StoredPage]:
        """Return the pages of the next generation."""

    def next_anchors(self, source_id: str) -> Iterator[tuple[int, int, str]]:
        """Yield (page id, chunk id, anchors) for each chunk of the next generation, in reading order."""

    def next_links(self, source_id: str) -> Iterator[tuple[int, str, str]]:
        """Yield (page id, target, link text) for each link of the next generation."""

    def indexed_links(self, source_id: str) -> dict[int, tuple[str, int]]:
        """Return the link words and link count of each chunk that is already indexed, by chunk id."""

    def chunks_of(self, page_id: int) -> list[StoredChunk]:
        """Return the chunks of a page in reading order."""

    def write_words(self, pages: Sequence[PageWords], chunks: Sequence[DocsChunkWords]) -> None:
        """Index the words of pages and their chunks."""

    def update_links(self, chunks: Sequence[tuple[int, str, int]], pages: Sequence[tuple[int, int]]) -> None:
        """Update the link words of indexed chunks (chunk, words, count) and the link counts of pages (page, count)."""

    def publish(self, source_id: str, generation: int, left_out: str = "", *, now: float) -> bool:
        """Make the new generation visible to readers at once. Return False if the crawl was cancelled.

        `left_out` describes the pages that the source's limits excluded.
        """

    def discard(self, source_id: str) -> None:
        """Delete the data of an abandoned crawl. Readers keep seeing the published generation."""

    def remove_source(self, source_id: str) -> int:
        """Delete a source with all its data, and return the number of its pages."""


class Passages(Protocol):
    """The read path: candidates with all ranking inputs, and chunks for results."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context manager within which all reads see the same state."""

    def totals(self, source_ids: Collection[str]) -> DocsTotals:
        """Return the number of visible pages and chunks of the given sources."""

    def document_frequencies(self, words: Iterable[str]) -> dict[str, int]:
        """Return the number of chunks that contain each word. Absent words are omitted."""

    def chunk_count(self) -> int:
        """Return the number of chunks in the word index."""

    def candidates(self, words: Sequence[str], source_ids: Collection[str], *, limit: int) -> list[CandidateChunk]:
        """Return the best-matching chunks in arbitrary order, or an empty list if there are no words."""

    def candidates_with(self, chunk_ids: Collection[int], source_ids: Collection[str]) -> list[CandidateChunk]:
        """Return as candidates those of the given chunks that are visible in the sources."""

    def visible(self, chunk_ids: Collection[int], source_ids: Collection[str]) -> set[int]:
        """Return the visible subset of the given chunk ids. Fast even for thousands of ids."""

    def chunk_ids(self, source_ids: Collection[str]) -> list[int]:
        """Return the ids of all visible chunks of the given sources."""

    def page_scores(self, words: Sequence[str], source_ids: Collection[str], *, limit: int) -> dict[int, float]:
        """Return the scores of the best-matching pages by page id, or an empty mapping if there are no words."""

    def chunks(self, chunk_ids: Sequence[int]) -> list[ShownChunk]:
        """Return the chunks with the given ids, in the given order. Deleted chunks are omitted."""


class Documents(Protocol):
    """Store of all documentation in a library."""

    @property
    def sources(self) -> Sources:
        """Sources and crawls."""

    @property
    def pages(self) -> Pages:
        """The write path."""

    @property
    def passages(self) -> Passages:
        """The read path."""

    @property
    def vectors(self) -> VectorRecords:
        """Embedding vectors of chunks."""
