"""What documentation keeps: sources, the crawl of each, pages, chunks and their words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.vectors import VectorRecords

CrawlState = Literal["open", "done", "failed", "cancelled"]
AddressState = Literal["queued", "done", "unchanged", "failed", "missing", "skipped"]


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A documentation source as the user added it. Readers see the pages of its `generation`; 0 is none yet."""

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
    auth: str = ""  # the name of the login that it is read with, never its value
    browser: bool = False
    folder: str = ""  # of a repository, literally; empty is all of it
    reference: str = ""  # the full name of a repository's branch or tag, whose short one is `version`


@dataclass(frozen=True, slots=True)
class CrawlRow:
    """The crawl under way, or the last one. It builds `generation`."""

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
    """An address that a crawl goes to, and what became of it.

    `etag` and `last_modified` are those of an answer that gave no page; where it did, the page has them.
    """

    url: str
    depth: int = 0
    state: AddressState = "queued"
    attempts: int = 0
    reason: str = ""  # of one that is queued: what it was in the last crawl
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class SkippedAddresses:
    """How many addresses were passed over for one reason, and the first of them."""

    reason: str
    count: int
    first_url: str


class DocsChunkRow(NamedTuple):
    """A chunk to be written. It comes from another process: named tuples are pickled several times faster."""

    section: str
    anchors: tuple[str, ...]
    is_definition: bool
    text: str
    traits: int = 0


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page to be written. `requested_url` is the address it was asked at, `url` the one it is cited by.

    `links` are (address with fragment, words) of the pages of the same source that it mentions.
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
    """What is needed to ask whether a page changed."""

    etag: str
    last_modified: str
    hash: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """What a stretch of a crawl found out: written at once."""

    pages: tuple[PageRow, ...] = ()
    settled: tuple[CrawlAddress, ...] = ()
    discovered: tuple[CrawlAddress, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk of a page that the coming generation shows."""

    id: int
    section: str
    anchors: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page that the coming generation shows."""

    id: int
    url: str
    title: str
    is_indexed: bool
    links_in: int


@dataclass(frozen=True, slots=True)
class DocsChunkWords:
    """The index words of one chunk, field by field, and how many pages link to it."""

    chunk_id: int
    heading: str
    trail: str
    anchors: str
    links: str
    body: str
    links_in: int


@dataclass(frozen=True, slots=True)
class PageWords:
    """The index words of one page."""

    page_id: int
    title: str
    headings: str
    body: str
    links_in: int


@dataclass(frozen=True, slots=True)
class DocsTotals:
    """How much can be searched."""

    sources: int
    pages: int
    chunks: int


@dataclass(frozen=True, slots=True)
class CandidateChunk:
    """A chunk that may answer: its words by field and the facts that ranking looks at."""

    chunk_id: int
    page_id: int
    source: str
    url: str
    title: str
    section: str
    position: int
    is_definition: bool
    traits: int  # of a definition: markup.model.Trait
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
    """A chunk with all that a result shows."""

    id: int
    source_id: str
    source: str
    version: str
    url: str
    title: str
    section: str
    anchors: tuple[str, ...]
    text: str


class CrawlClaim(Protocol):
    """The right to crawl a source, with a note that outlives whoever has it."""

    def read_note(self) -> str:
        """What this or an earlier holder noted last; empty when it noted nothing."""

    def write_note(self, line: str) -> None:
        """Replace the note. A holder that dies meanwhile leaves the old one or the new one."""


class Sources(Protocol):
    """Documentation sources and the crawl of each."""

    def sources(self) -> list[SourceRow]:
        """All sources by name."""

    def source(self, source_id: str) -> SourceRow | None:
        """The source with that id; names may be those of several versions."""

    def add_source(self, source: SourceRow) -> None:
        """Record a new source."""

    def set_version(self, source_id: str, version: str) -> None:
        """Record which version the source turned out to have."""

    def claim(self, source_id: str) -> AbstractContextManager[CrawlClaim | None]:
        """The right to crawl a source, until the block ends or the process dies; None while another has it."""

    def crawl(self, source_id: str) -> CrawlRow | None:
        """The crawl under way or the last one; None before the first."""

    def open_crawls(self) -> list[str]:
        """Ids of the sources whose crawl is not finished."""

    def begin_crawl(self, source_id: str, *, is_full: bool, now: float) -> None:
        """Open a crawl of the next generation; unless it is a full one, what gave no page in the last is queued again.

        The reason of such an address is why it was skipped, or the state that it had (`failed`, `missing`).
        """

    def seed(self, source_id: str, addresses: Iterable[CrawlAddress]) -> None:
        """Record the first addresses of a crawl, queued or failed already, and that it has them."""

    def end_crawl(self, source_id: str, state: CrawlState, reason: str, now: float) -> bool:
        """Close an open crawl without publishing it; False when it was closed already."""

    def forget(self, source_id: str, urls: Iterable[str]) -> None:
        """Drop addresses that the crawl need not ask for."""

    def fail_address(self, source_id: str, url: str, reason: str) -> None:
        """Record that an address is not to be read in this crawl, whether it was met already or not."""

    def queued(self, source_id: str) -> list[CrawlAddress]:
        """Places that still wait, nearest to the start first."""

    def known_urls(self, source_id: str) -> set[str]:
        """Every address that the crawl has met."""

    def address_counts(self, source_id: str) -> dict[str, int]:
        """How many addresses are in each state."""

    def failed_addresses(self, source_id: str) -> list[CrawlAddress]:
        """The addresses that could not be read, with the reason for each."""

    def count_reason(self, source_id: str, reason: str) -> int:
        """How many addresses were settled with that very reason."""

    def skipped_because(self, source_id: str, most: int) -> list[SkippedAddresses]:
        """Why addresses were passed over, the commonest reasons first."""

    def first_reason(self, source_id: str) -> str:
        """Why the first address, failures before others, gave no page; empty when no address says."""


class Pages(Protocol):
    """The write path: pages of a crawl, their words, and the moment when readers see them."""

    def known_pages(self, source_id: str) -> dict[str, KnownPage]:
        """By address: the page that readers see now, or that the open crawl has already written."""

    def live_addresses(self, source_id: str) -> list[str]:
        """The addresses of all pages that readers see now."""

    def write(self, source_id: str, generation: int, batch: Batch) -> bool:
        """Write a stretch of a crawl; False, and nothing written, when that crawl is no longer wanted."""

    def drop_unmet(self, source_id: str, generation: int) -> int:
        """Mark the pages that the crawl did not meet again; how many pages the new generation drops in all."""

    def coming_pages(self, source_id: str) -> list[StoredPage]:
        """The pages that the coming generation shows."""

    def coming_anchors(self, source_id: str) -> Iterator[tuple[int, int, str]]:
        """(page, chunk, its anchors) of the coming generation, in reading order."""

    def coming_links(self, source_id: str) -> Iterator[tuple[int, str, str]]:
        """(page, target, words) of every link of the coming generation."""

    def indexed_links(self, source_id: str) -> dict[int, tuple[str, int]]:
        """By chunk that is indexed already: the words of links to it and how many there are."""

    def chunks_of(self, page_id: int) -> list[StoredChunk]:
        """The chunks of a page in reading order."""

    def write_words(self, pages: Sequence[PageWords], chunks: Sequence[DocsChunkWords]) -> None:
        """Index the words of whole pages."""

    def update_links(self, chunks: Sequence[tuple[int, str, int]], pages: Sequence[tuple[int, int]]) -> None:
        """Correct the link words of indexed chunks (chunk, words, count) and the link counts of pages (page, count)."""

    def publish(self, source_id: str, generation: int, left_out: str = "", *, now: float) -> bool:
        """Show the new generation to readers, all of it at once; False when nobody wants it any more.

        `left_out` says what the limits of the source kept out of it.
        """

    def discard(self, source_id: str) -> None:
        """Remove what an abandoned crawl wrote; readers keep what they see."""

    def remove_source(self, source_id: str) -> int:
        """Remove a source with all it has; returns how many pages that were."""


class Passages(Protocol):
    """The read path: candidates for a question with all that ranking looks at, and chunks to show."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Several reads that see one state, whatever is published meanwhile."""

    def totals(self, source_ids: Collection[str]) -> DocsTotals:
        """How many pages and chunks readers can see of some sources."""

    def document_frequencies(self, words: Iterable[str]) -> dict[str, int]:
        """In how many chunks each word occurs; words that never do are left out."""

    def chunk_count(self) -> int:
        """How many chunks the word index holds."""

    def candidates(self, words: Sequence[str], source_ids: Collection[str], *, limit: int) -> list[CandidateChunk]:
        """The chunks that share most with the words, in no order that matters; none for no words."""

    def candidates_with(self, chunk_ids: Collection[int], source_ids: Collection[str]) -> list[CandidateChunk]:
        """Those of the chunks that readers may see in the sources."""

    def visible(self, chunk_ids: Collection[int], source_ids: Collection[str]) -> set[int]:
        """The ids of the same, without anything else of them: of thousands."""

    def page_scores(self, words: Sequence[str], source_ids: Collection[str], *, limit: int) -> dict[int, float]:
        """The pages that share most with the words, each with its score; none for no words."""

    def chunks(self, chunk_ids: Sequence[int]) -> list[ShownChunk]:
        """Chunks by id, in the order asked for; ids that are gone are left out."""


class Documents(Protocol):
    """All that documentation keeps."""

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
        """The vectors of chunks."""
