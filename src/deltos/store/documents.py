"""What documentation keeps: sources, the crawl of each, pages, chunks and their words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

CrawlState = Literal["open", "done", "failed", "cancelled"]
PlaceState = Literal["queued", "done", "unchanged", "failed", "missing", "skipped"]


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
    """An address that a crawl goes to, and what became of it."""

    url: str
    depth: int = 0
    state: PlaceState = "queued"
    attempts: int = 0
    reason: str = ""


class DocsChunkRow(NamedTuple):
    """A chunk to be written. It comes from another process: named tuples are pickled several times faster."""

    section: str
    anchors: tuple[str, ...]
    is_definition: bool
    text: str


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page to be written. `place` is the address it was asked at, `url` the one it is cited by.

    `links` are (address with fragment, words) of the pages of the same source that it mentions.
    """

    url: str
    place: str
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
    source: str
    version: str
    url: str
    title: str
    section: str
    anchors: tuple[str, ...]
    text: str
