"""Documents to rows: chunk a page and turn its text into index words. Writing them is the store's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinakes.domains.docs.chunk import chunk_document
from pinakes.store.docs_index import ChunkRow, PageRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinakes.domains.docs.chunk import Chunk
    from pinakes.domains.docs.model import Reading
    from pinakes.text import Words

SECTION_SEPARATOR = " > "


def page_rows(place: str, reading: Reading, words: Words) -> Iterator[PageRow]:
    """The rows of every page that was read at `place`."""
    for page in reading.pages:
        yield PageRow(
            url=page.url,
            place=place,
            title=page.document.title,
            etag=reading.etag,
            last_modified=reading.last_modified,
            hash=reading.hash,
            chunks=tuple(_chunk_row(chunk, words) for chunk in chunk_document(page.document) if chunk.text or chunk.path),
        )


def _chunk_row(chunk: Chunk, words: Words) -> ChunkRow:
    *trail, heading = chunk.path or ("",)
    return ChunkRow(
        section=SECTION_SEPARATOR.join(chunk.path),
        anchors=chunk.anchors,
        text=chunk.text,
        heading_words=words.of(heading),
        trail_words=words.of(" ".join(trail)),
        anchor_words=words.of(" ".join(chunk.anchors)),
        body_words=words.of(chunk.text),
    )
