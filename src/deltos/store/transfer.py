"""What is carried from one engine to another: everything of a library or a memory, piece by piece, without its ids.

Observations alone keep their places: sessions, exports and vectors know them by these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.store.apis import ApiRow, NewUnit
    from deltos.store.documents import CrawlAddress, CrawlRow, SourceRow
    from deltos.store.observations import Anchor

Vector = tuple[str, bytes]  # the model that made it, and its data


class CarriedChunk(NamedTuple):
    """A chunk of a page; `words` are those of heading, trail, anchors, links and body, None before it is indexed."""

    section: str
    anchors: str
    is_definition: bool
    text: str
    traits: int
    links_in: int
    words: tuple[str, str, str, str, str] | None
    vector: Vector | None


class CarriedPage(NamedTuple):
    """A page with its chunks and links; `words` are those of title, headings and body, None before it is indexed."""

    url: str
    address: str
    title: str
    etag: str
    last_modified: str
    hash: bytes
    added: int
    dropped: int | None
    links_in: int
    links: tuple[tuple[str, str], ...]
    words: tuple[str, str, str] | None
    chunks: tuple[CarriedChunk, ...]


class CarriedSource(NamedTuple):
    """A documentation source with its crawl; `pages` are read while it is carried."""

    source: SourceRow
    crawl: CrawlRow | None
    addresses: tuple[CrawlAddress, ...]
    pages: Iterator[CarriedPage]


class CarriedApi(NamedTuple):
    """An API with its units and the vector of each."""

    api: ApiRow
    units: tuple[tuple[NewUnit, Vector | None], ...]


class CarriedSession(NamedTuple):
    """A session with its key."""

    key: int
    project: int
    session_id: str | None
    agent: str
    started_at: int
    ended_at: int | None
    shown_at: int | None


class CarriedObservation(NamedTuple):
    """An observation as it is kept: the columns of its row but for what is made of its words."""

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


class CarriedNotes(NamedTuple):
    """What memory notes beside observations: exports, purged ids, and what was taken in of transcripts."""

    exported: tuple[tuple[bytes, int], ...]
    purged: tuple[bytes, ...]
    mined_events: tuple[bytes, ...]
    mined_files: tuple[tuple[bytes, int, int, int], ...]
