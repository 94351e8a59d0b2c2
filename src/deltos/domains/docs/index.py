"""Add the words of crawled pages to the full-text index.

This is the last step of a crawl, because the links to a page are known only after all pages are fetched.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

from deltos.domains.docs.pages import SECTION_SEPARATOR
from deltos.store.documents import DocsChunkWords, PageWords
from deltos.text.words import documentation_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.store.documents import Pages, StoredChunk, StoredPage

_CHUNKS_PER_WRITE = 500
_MAX_INDEXED_LINK_TEXTS = 30  # maximum number of indexed link texts per chunk


@dataclass(slots=True)
class _InboundLinks:
    """Pages that link to a chunk, and the texts of the links."""

    pages: set[int] = field(default_factory=set)
    texts: dict[str, None] = field(default_factory=dict)


def index_words(index: Pages, source_id: str, *, stopping: Callable[[], bool]) -> bool:
    """Add the words of new or changed pages to the new version of the index; return False if asked to stop."""
    pages = index.next_pages(source_id)
    by_chunk, by_page = _inbound_links(index, source_id, pages)
    _update_links(index, source_id, pages, by_chunk, by_page)
    page_batch: list[PageWords] = []
    chunk_batch: list[DocsChunkWords] = []
    for page in pages:
        if page.is_indexed:
            continue
        if stopping():
            return False
        chunks = [_chunk_words(chunk, by_chunk.get(chunk.id)) for chunk in index.chunks_of(page.id)]
        chunk_batch += chunks
        page_batch.append(_page_words(page, chunks, len(by_page[page.id])))
        if len(chunk_batch) >= _CHUNKS_PER_WRITE:
            index.write_words(page_batch, chunk_batch)
            page_batch, chunk_batch = [], []
    index.write_words(page_batch, chunk_batch)
    return True


def _inbound_links(
    index: Pages, source_id: str, pages: list[StoredPage]
) -> tuple[dict[int, _InboundLinks], dict[int, set[int]]]:
    """Return the inbound links of each chunk, and the ids of the pages that link to each page."""
    page_ids = {page.url: page.id for page in pages}
    first: dict[int, int] = {}
    by_anchor: dict[tuple[int, str], int] = {}
    for page_id, chunk_id, anchors in index.next_anchors(source_id):
        first.setdefault(page_id, chunk_id)
        for anchor in anchors.split():
            by_anchor.setdefault((page_id, anchor), chunk_id)
    by_chunk: dict[int, _InboundLinks] = defaultdict(_InboundLinks)
    by_page: dict[int, set[int]] = defaultdict(set)
    for from_page, target, text in index.next_links(source_id):
        url, _, fragment = target.partition("#")
        to_page = page_ids.get(url)
        if to_page is None or to_page == from_page:
            continue
        by_page[to_page].add(from_page)
        chunk = by_anchor.get((to_page, fragment)) if fragment else first.get(to_page)
        if chunk is not None:
            by_chunk[chunk].pages.add(from_page)
            by_chunk[chunk].texts[text] = None
    return by_chunk, by_page


def _update_links(
    index: Pages,
    source_id: str,
    pages: list[StoredPage],
    by_chunk: dict[int, _InboundLinks],
    by_page: dict[int, set[int]],
) -> None:
    """Update the inbound links of unchanged pages, because the links in other pages may have changed."""
    kept = [page for page in pages if page.is_indexed]
    if not kept:
        return
    chunks = []
    for chunk_id, (link_words, links_in) in index.indexed_links(source_id).items():
        found = by_chunk.get(chunk_id)
        current = (_link_words(found), len(found.pages) if found else 0)
        if current != (link_words, links_in):
            chunks.append((chunk_id, *current))
    counts = [(page.id, len(by_page[page.id])) for page in kept if len(by_page[page.id]) != page.links_in]
    if chunks or counts:
        index.update_links(chunks, counts)


def _chunk_words(chunk: StoredChunk, links: _InboundLinks | None) -> DocsChunkWords:
    """Return the index terms of a chunk, grouped by field."""
    trail, _, heading = chunk.section.rpartition(SECTION_SEPARATOR)
    return DocsChunkWords(
        chunk_id=chunk.id,
        heading=documentation_words(heading),
        trail=documentation_words(trail),
        anchors=documentation_words(unquote(" ".join(chunk.anchors))),
        links=_link_words(links),
        body=documentation_words(chunk.text),
        links_in=len(links.pages) if links else 0,
    )


def _link_words(links: _InboundLinks | None) -> str:
    """Return the index terms of the link texts."""
    return documentation_words(" ".join(sorted(links.texts)[:_MAX_INDEXED_LINK_TEXTS])) if links else ""


def _page_words(page: StoredPage, chunks: list[DocsChunkWords], links_in: int) -> PageWords:
    """Return the index terms of a page, grouped by field."""
    path = page.url.partition("://")[2].partition("/")[2] or page.url
    return PageWords(
        page_id=page.id,
        title=documentation_words(f"{page.title} {path}"),
        headings=" ".join(chunk.heading for chunk in chunks),
        body=" ".join(chunk.body for chunk in chunks),
        links_in=links_in,
    )
